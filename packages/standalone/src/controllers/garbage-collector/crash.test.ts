import { failpointNames } from "@mooring/store";
import { killStory } from "../testing/kill-story.ts";
import "./index.ts";
import "../namespace/index.ts";
import "../role-aggregation/index.ts";

await killStory({
  program: new URL("../../apiserver/testing/crash-story.ts", import.meta.url),
  failpoints: failpointNames().filter((name) =>
    /^standalone\/(garbage-collector|namespace|role-aggregation)\//.test(name),
  ),
  shows: "ends the work",
});
