"""The search for the highest rate that meets conditions (`find:`): which rates are probed
(`search`), what a probe shows (`judgement`), and the trial around them (`probing`)."""
