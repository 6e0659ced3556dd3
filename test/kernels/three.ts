import { Disk } from "./disk.ts";
import type { Kernels } from "./kernels.ts";
import { isComplete, MIB, NODES, RECORDS, takeOver } from "./proof.ts";
import { RecordWriter, readStints } from "./records.ts";

const THIRD = "three";

/** The power of two nodes of three is cut at once, each in the middle of its writes; the third gets both volumes, with all that was acknowledged. */
export async function twoOfThree(kernels: Kernels): Promise<string> {
  await kernels.boot(THIRD);
  const writing = await Promise.all(
    NODES.map(async (node) => {
      const disk = await Disk.create(kernels, `third-${node}`, 64n * MIB);
      const writer = new RecordWriter(kernels.node(node).guest, node, await disk.attach(node));
      await writer.more("acknowledged", RECORDS);
      return { node, disk, writer };
    }),
  );
  await Promise.all(writing.map(({ node }) => kernels.node(node).guest.stop()));
  const taken = await Promise.all(
    writing.map(({ node, disk }) => takeOver(kernels, disk, { from: node, to: THIRD })),
  );
  const { guest } = kernels.node(THIRD);
  for (const [index, { writer }] of writing.entries())
    isComplete(await readStints(guest, taken[index]?.device ?? ""), [], writer);
  for (const { disk } of writing) {
    await disk.leave(THIRD);
    await disk.remove();
  }
  await Promise.all(writing.map(({ node }) => kernels.boot(node)));
  const acknowledged = writing.reduce((sum, { writer }) => sum + writer.acknowledged, 0);
  return `${acknowledged} acknowledged, 0 lost; on the third node ${taken.map(({ took }) => took).join(", and ")}`;
}
