import assert from "node:assert/strict";
import { test } from "node:test";
import { CONTROLLERS, type ControllerName } from "../controllers.ts";
import { startHarness } from "../testing/harness.ts";
import { noteRights, rightsIn } from "../testing/used-rights.ts";
import { controllerNeeds } from "./needs.ts";

const FOLLOWING = /^watch /;

for (const name of Object.keys(CONTROLLERS) as ControllerName[]) {
  test(`${name} follows the kinds that it asks for at its start, and no others`, async (t) => {
    const used = new Set<string>();
    const wanted = [...rightsIn(controllerNeeds([name]))].filter((right) => FOLLOWING.test(right)).sort();
    const followed = () => [...used].filter((right) => FOLLOWING.test(right)).sort();
    const h = await startHarness(t, {
      driver: {
        can: [
          ...(["CREATE_DELETE_VOLUME", "PUBLISH_UNPUBLISH_VOLUME", "CREATE_DELETE_SNAPSHOT"] as const),
          ...(["EXPAND_VOLUME", "GET_CAPACITY", "MODIFY_VOLUME", "GET_VOLUME", "VOLUME_CONDITION"] as const),
        ],
        groups: true,
        topology: true,
        volumeGroups: ["modify", "get", "list"],
      },
      sidecars: { controllers: [name], nodeName: "n1", csiDriver: { attachRequired: true } },
      serve: async (store) => noteRights(store, used),
    });
    assert.deepEqual(h.sidecars.controllers, [name]);
    await h.until("all are followed", () => followed().length >= wanted.length, followed);
    assert.deepEqual(followed(), wanted);
  });
}
