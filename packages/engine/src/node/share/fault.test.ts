import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Events } from "@mooring/store";
import { covers, sample } from "@mooring/store/testing";
import { VolumeAttachments } from "../../api/attachment.ts";
import { NODE, until } from "../../testing/agent.ts";
import { MIB } from "../../testing/scratch.ts";
import { ticketStatus } from "../../tickets/tickets.ts";
import { findServers } from "./server.ts";
import { layout, NAME, over, readPatiently, running, served, share, write, XFS } from "./testing.ts";

const SALVAGE = `salvage-controller-${NAME}`;
const BOTH = ["csi-w", "csi-other"];
const EXT4 = { ...XFS, fsType: "ext4", size: 64 * MIB } as const;

for (const spec of sample([XFS, EXT4], { everyday: 1 })) {
  test(`${spec.fsType}: a served file system that fails is taken from its server, repaired through a ticket, and served again at the address that its clients have`, async (t) => {
    covers("LHA-055", "LHA-057", "LHA-059");
    const bench = await served(t, spec);
    const endpoint = await running(bench);
    const [server = 0] = await findServers(layout(bench));
    await write(bench, "f", "kept");
    await bench.host.exec.run("sync", ["-f", layout(bench).mount]);
    const { mount } = layout(bench);
    // Watched for before it happens, however fast it goes by.
    const stopped = share(bench, ({ status }) => status?.state === "stopped");
    const reported = until(bench.store, VolumeAttachments, NAME, (a) =>
      BOTH.every((id) => {
        const result = ticketStatus(a, id)?.conditions[0];
        return result?.reason === "ShareNotReady" && result.message?.includes(`file system at ${mount}`);
      }),
    );
    const tickets = bench.ticketsUntil(NAME, (a) => ticketStatus(a, SALVAGE)?.satisfied === true);
    const faulted = bench.volumeWhere(NAME, (v) => v.status?.robustness === "faulted");
    await bench.host.exec.run("xfs_io", ["-x", "-c", "shutdown -f", mount]);
    const broken = await faulted;
    assert.equal(broken.status?.salvage?.cause, "filesystem");
    await Promise.all([stopped, reported]);
    assert.ok((await tickets).includes(`${SALVAGE} salvage-controller ${NODE}`));
    assert.equal(await running(bench), endpoint, "clients find it again by themselves");
    const healed = await bench.volume(NAME, "attached", (v) => v.status?.robustness === "healthy");
    const { salvage, remountRequestedAt = "", frontendDisabled } = healed.status ?? {};
    assert.match(salvage?.state ?? "", /Clean|Repaired/);
    assert.equal(frontendDisabled, false);
    assert.ok(remountRequestedAt >= (salvage?.finishedAt ?? "none"), "whoever has files open is notified");
    assert.ok(
      !(await findServers(layout(bench))).includes(server),
      "nothing of the server that had the failure",
    );
    assert.equal(await readPatiently(bench, "f"), "kept");
    await write(bench, "g", "afterwards");
    assert.equal(await readFile(join(layout(bench).mount, "g"), "utf8"), "afterwards");
    const manager = `share-manager-controller-${NAME}`;
    await until(bench.store, VolumeAttachments, NAME, (a) => {
      const left = Object.keys(a.spec.attachmentTickets ?? {})
        .sort()
        .join();
      return (
        left === [...BOTH, manager].sort().join() &&
        BOTH.every((id) => ticketStatus(a, id)?.satisfied === true)
      );
    });
    const { items } = await bench.store.list(Events, { namespace: "default" });
    const reasons = items.map(({ reason }) => reason);
    assert.ok(reasons.includes("Faulted") && reasons.includes("Salvaged"), reasons.join());
    await over(bench);
  });
}
