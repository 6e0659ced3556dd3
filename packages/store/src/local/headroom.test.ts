import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "../testing/temp-folder.ts";
import { Headroom } from "./headroom.ts";

test("room for a file that is gone is none, and no failure of what was just written", async (t) => {
  const headroom = new Headroom(join(await tempFolder(t), "gone.mdb"), true);
  await assert.doesNotReject(headroom.extend());
});
