use super::*;

#[test]
fn keys_stay_and_values_go() {
    let cases = [
        (
            r#"{"find":"orders","filter":{"status":"A","qty":{"$gt":5}},"limit":3,"lsid":{"id":{"$uuid":"x"}},"$db":"shop"}"#,
            r#"{"find":"orders","filter":{"status":?,"qty":{"$gt":?}},"limit":?}"#,
        ),
        (
            r#"{ "find" : "o", "filter": {"_id": {"$in": [1, 2, {"$oid":"5f"}, null]}}}"#,
            r#"{"find":"o","filter":{"_id":{"$in":[?+]}}}"#,
        ),
        (
            r#"{"aggregate":"o","pipeline":[{"$match":{"a":1}},{"$lookup":{"from":"c","localField":"x","as":"y"}},{"$group":{"_id":"$s"}}],"cursor":{}}"#,
            r#"{"aggregate":"o","pipeline":[{"$match":{"a":?}},{"$lookup":{"from":"c","localField":?,"as":?}},{"$group":{"_id":"$s"}}],"cursor":{}}"#,
        ),
        // Sort directions stay, other numbers do not.
        (
            r#"{"find":"o","filter":{"sort":{"a":1}},"sort":{"a":1,"b":-1.0,"c":7,"d":{"$meta":"x"}},"skip":1}"#,
            r#"{"find":"o","filter":{"sort":{"a":?}},"sort":{"a":1,"b":-1,"c":?,"d":{"$meta":?}},"skip":?}"#,
        ),
        (
            r#"{"aggregate":"o","pipeline":[{"$match":{"$sort":{"a":1}}},{"$sort":{"a":-1}},{"$facet":{"x":[{"$sort":{"b":1}}]}}]}"#,
            r#"{"aggregate":"o","pipeline":[{"$match":{"$sort":{"a":?}}},{"$sort":{"a":-1}},{"$facet":{"x":[{"$sort":{"b":1}}]}}]}"#,
        ),
        (r#"{"eval":"x","sort":{"a":1}}"#, r#"{"eval":?,"sort":{"a":?}}"#),
        // Group keys stay, other strings do not.
        (
            r#"{"aggregate":"o","pipeline":[{"$group":{"_id":{"s":"$state","m":{"$month":"$at"},"l":{"$literal":"$secret"},"t":"secret"},"n":{"$sum":"$qty"}}}]}"#,
            r#"{"aggregate":"o","pipeline":[{"$group":{"_id":{"s":"$state","m":{"$month":"$at"},"l":{"$literal":?},"t":?},"n":{"$sum":?}}}]}"#,
        ),
        (
            r#"{"aggregate":"o","pipeline":[{"$sortByCount":"$state"},{"$bucket":{"groupBy":"$price","boundaries":[1,5]}},{"$match":{"$group":{"_id":"$secret"}}}]}"#,
            r#"{"aggregate":"o","pipeline":[{"$sortByCount":"$state"},{"$bucket":{"groupBy":"$price","boundaries":[?+]}},{"$match":{"$group":{"_id":?}}}]}"#,
        ),
        (
            r#"{"find":"o","filter":{"$group":{"_id":"$secret"},"p":[{"$group":{"_id":"$secret"}}]}}"#,
            r#"{"find":"o","filter":{"$group":{"_id":?},"p":[{"$group":{"_id":?}}]}}"#,
        ),
        (
            r#"{"insert":"o","documents":[{"a":1,"b":"x"},{"a":2,"b":"y"}],"ordered":true}"#,
            r#"{"insert":"o","documents":[{"a":?,"b":?}],"ordered":?}"#,
        ),
        (
            r#"{"getMore":{"$numberLong":"77"},"collection":"o"}"#,
            r#"{"getMore":?,"collection":"o"}"#,
        ),
        (
            r#"{"find":"o","filter":{"from":"secret","x":{"collection":"secret"}}}"#,
            r#"{"find":"o","filter":{"from":?,"x":{"collection":?}}}"#,
        ),
        (
            r#"{"q":{"a":"secret"},"u":{"$set":{"b":1}},"multi":false}"#,
            r#"{"q":{"a":?},"u":{"$set":{"b":?}},"multi":?}"#,
        ),
        (
            r#"{"update":"users","updates":[{"q":{"email":"secret"},"u":{"$set":{"password":"secret"}}}],"ordered":true,"$db":"shop"}"#,
            r#"{"update":"users","updates":[{"q":{"email":?},"u":{"$set":{"password":?}}}],"ordered":?}"#,
        ),
        (
            r#"{"findAndModify":"o","query":{"a":"secret"},"update":{"$inc":{"n":1}},"comment":{"secret":1}}"#,
            r#"{"findAndModify":"o","query":{"a":?},"update":{"$inc":{"n":?}}}"#,
        ),
        (
            r#"{"bulkWrite":1,"ops":[{"insert":0,"document":{"a":"secret"}},{"delete":0,"filter":{"b":"secret"}}],"nsInfo":[{"ns":"shop.o"}],"comment":"secret"}"#,
            r#"{"bulkWrite":?,"ops":[{"insert":?,"document":{"a":?}},{"delete":?,"filter":{"b":?}}],"nsInfo":[{"ns":?}]}"#,
        ),
        (
            r#"{"distinct":"o","key":"a.b","query":{"key":"secret"},"$db":"shop"}"#,
            r#"{"distinct":"o","key":"a.b","query":{"key":?}}"#,
        ),
        (r#"{"find":"o","key":"secret"}"#, r#"{"find":"o","key":?}"#),
        // The arguments of other commands may be anything.
        (r#"{"eval":"secret","collection":"secret"}"#, r#"{"eval":?,"collection":?}"#),
        (r#"{"createUser":"secret","pwd":"secret"}"#, r#"{"createUser":?,"pwd":?}"#),
        (r#"{"secret":"secret"}"#, r#"{"secret":?}"#),
        (
            r#"{"aggregate":"o","pipeline":[{"$facet":{"x":[{"$lookup":{"from":"c","pipeline":[{"$unionWith":{"coll":"d"}}]}}]}}]}"#,
            r#"{"aggregate":"o","pipeline":[{"$facet":{"x":[{"$lookup":{"from":"c","pipeline":[{"$unionWith":{"coll":"d"}}]}}]}}]}"#,
        ),
        (
            r#"{"aggregate":"o","pipeline":[{"$match":{"x":{"$lookup":{"from":"secret"}},"y":[{"$lookup":{"from":"secret"}}]}}]}"#,
            r#"{"aggregate":"o","pipeline":[{"$match":{"x":{"$lookup":{"from":?}},"y":[{"$lookup":{"from":?}}]}}]}"#,
        ),
        (r#"{"find":"o","filter":{"a":"cut in the mid"#, r#"{"find":"o","filter":{"a":?}}"#),
        ("", ""),
    ];
    for (command, expected) in cases {
        assert_eq!(fingerprint(command.as_bytes()), expected, "{command}");
    }
}

#[test]
fn the_command_and_its_collection_are_told() {
    let told = |command: &str| distill(command.as_bytes()).to_string();
    assert_eq!(told(r#"{"find":"orders","filter":{"a":1},"$db":"x"}"#), "FIND orders");
    assert_eq!(told(r#"{"getMore":12,"collection":"o"}"#), "GETMORE o");
    assert_eq!(told(r#"{"q":{},"u":{}}"#), "UPDATE");
    assert_eq!(told(r#"{"findandmodify":"o","query":{}}"#), "FINDANDMODIFY o");
    assert_eq!(told(r#"{"remove":"o","q":{}}"#), "REMOVE o");
    assert_eq!(told(r#"{"eval":"secret","collection":"secret"}"#), "EVAL");
    assert_eq!(told("rubbish"), "");
}

#[test]
fn rubbish_of_any_depth_ends() {
    for text in ["[", "{\"a\":", "]", "}", "{\"a\":[", ",:", "\\"] {
        fingerprint(text.repeat(5000).as_bytes());
        distill(text.repeat(5000).as_bytes());
    }
}
