import assert from "node:assert/strict";
import { once } from "node:events";
import { after, test } from "node:test";
import { failpointNames, Leases } from "@mooring/store";
import {
  bundleProgram,
  cephOfFile,
  eventuallyObject,
  killEveryFailpoint,
  startTestApiServer,
  withCeph,
} from "@mooring/store/testing";
import { LEASE_NAMESPACE } from "../../api/names.ts";
import { isShutOut } from "../../leases/decide.ts";
import { leaseName } from "../../leases/lease-watch.ts";
import { GIB } from "../../testing/scratch.ts";
import { BlockWriter, readStints } from "../migration/testing/block-writer.ts";
import { Stage, VOLUME } from "../migration/testing/stage.ts";
import "./index.ts";

const withCluster = await withCeph();
const program = await bundleProgram(new URL("../migration/testing/mortal-agent.ts", import.meta.url));
after(program.remove);
const cluster = cephOfFile(after);
const NAMES = failpointNames().filter((name) => name.startsWith("engine/shut-out/"));
/** After this time the failpoint will not be reached any more. */
const PATIENCE_MS = 120_000;

killEveryFailpoint(NAMES, { everyday: 0, full: 3 }, (failpoint) => {
  test(
    `killed at ${failpoint}, the next life shuts the lost node out, and what was written is all there`,
    withCluster,
    async (t) => {
      const ceph = await cluster();
      const { conf, user, keyring, pool } = ceph;
      const namespace = await ceph.namespace();
      const stage = await Stage.open(t, {
        rbd: { conf, spec: { user, keyring, pool, namespace } },
        volume: { volumeMode: "Block", size: GIB },
      });
      const { url } = await startTestApiServer(t, stage.store);
      await stage.ask("a");
      const device = await stage.attached("a");
      const first = await BlockWriter.start("a", device);
      await first.progress(20);
      await stage.stopNode("b");
      const mortal = await stage.startMortal("b", program.path, url, failpoint);
      const died = once(mortal, "exit", { signal: AbortSignal.timeout(PATIENCE_MS) });
      // Its agent is gone, and its workload is not.
      await stage.stopNode("a");
      await stage.report("a", "Suspect");
      await stage.ask("b");
      assert.deepEqual(await died, [null, "SIGKILL"], "the failpoint was not reached");
      await stage.startNode("b");
      const key = { namespace: LEASE_NAMESPACE, name: leaseName(VOLUME) };
      await eventuallyObject(
        stage.store,
        { resource: Leases, key },
        (lease) => lease !== undefined && isShutOut(lease, "a"),
      );
      await first.ended();
      assert.match(String(first.failure), /EIO/);
      await stage.report("a", "Fenced");
      const there = await stage.attached("b");
      const second = await BlockWriter.start("b", there, first.end);
      await second.progress(20);
      await second.stop();
      assert.deepEqual(await readStints(there), [
        ["a", first.acknowledged],
        ["b", second.acknowledged],
      ]);
    },
  );
});
