import assert from "node:assert/strict";
import { test } from "node:test";
import { coreFieldSelector } from "./convert.ts";

test("a field selector of an event is translated term by term, and its values are left as they are", () => {
  const translated = {
    "regarding.name=x,reason!=y": "involvedObject.name=x,reason!=y",
    "reportingController=c": "reportingComponent=c",
    "reason=a\\,regarding.kind=b,type=Normal": "reason=a\\,regarding.kind=b,type=Normal",
    "": "",
  };
  for (const [selector, expected] of Object.entries(translated))
    assert.equal(coreFieldSelector(selector), expected);
});
