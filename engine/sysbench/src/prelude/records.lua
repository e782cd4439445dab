-- What belongs to a connection and has no place in its C structure, by connection:
--   number   of the connection (primitives/mod.rs); nil: it is closed
--   driver   its name
--   result   its result object
--   bulk     what bulk_insert_next has collected; nil: not begun
--   emulates whether its statements are never prepared
--   is_lost  whether it broke down and has not been made anew
--   state, message   texts of the last error
return setmetatable({}, { __mode = "k" })
