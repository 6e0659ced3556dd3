import { failpointNames } from "@mooring/store";
import { killStory } from "../testing/kill-story.ts";
import "./index.ts";

await killStory({
  program: new URL("./testing/crash-story.ts", import.meta.url),
  failpoints: failpointNames().filter((name) => name.startsWith("standalone/node-lifecycle/")),
  shows: "marks the node and removes its pod",
});
