import { failpointNames } from "@mooring/store";
import { killStory } from "../testing/kill-story.ts";
import "../deployment/index.ts";
import "../replica-set/index.ts";
import "../stateful-set/index.ts";

await killStory({
  program: new URL("./testing/crash-story.ts", import.meta.url),
  failpoints: failpointNames().filter((name) =>
    /^standalone\/(deployment|replica-set|stateful-set)\//.test(name),
  ),
  shows: "has as many pods as it should, and their claims",
});
