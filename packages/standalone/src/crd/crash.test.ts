import { failpointNames } from "@mooring/store";
import { killStory } from "../controllers/testing/kill-story.ts";
import "./controller/index.ts";

await killStory({
  program: new URL("./testing/crash-story.ts", import.meta.url),
  failpoints: failpointNames().filter((name) => name.startsWith("standalone/crd/")),
  shows: "finishes, and a new definition finds no old object",
});
