import { failpointNames } from "@mooring/store";
import { killStory } from "../testing/kill-story.ts";
import "./index.ts";
import "../cron-job/index.ts";
import "../resource-quota/index.ts";

const STATUS = "standalone/job/write-status";

await killStory({
  program: new URL("../testing/batch-story.ts", import.meta.url),
  failpoints: failpointNames().filter((name) => /^standalone\/(job|cron-job|resource-quota)\//.test(name)),
  // A Job writes its status often: before, between and after what it does with its pods.
  later: [`${STATUS}#5`, `${STATUS}#11`],
  shows: "counts each pod once and ends the work",
});
