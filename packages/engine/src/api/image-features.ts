/** Features of a Ceph image that a class may ask for, in Ceph's order. */
export const IMAGE_FEATURES = [
  "layering",
  "exclusive-lock",
  "object-map",
  "fast-diff",
  "deep-flatten",
] as const;
/** One of {@link IMAGE_FEATURES}. */
export type ImageFeature = (typeof IMAGE_FEATURES)[number];

/** What each needs beside it, or why nothing works without it. */
const NEEDED: Partial<Record<ImageFeature, string>> = {
  layering: "snapshots and copies are clones",
  "exclusive-lock": "a lost node is shut out by the lock that it holds",
};
const NEEDS: Partial<Record<ImageFeature, ImageFeature>> = { "fast-diff": "object-map" };
/** Features of Ceph that no image of ours may have. */
const REFUSED: Readonly<Record<string, string>> = {
  journaling: "the kernel's client cannot open an image that has it, and each write is made twice",
  striping: "it says nothing without a stripe, which cannot be chosen",
  "data-pool": "it comes with a pool for data, which cannot be chosen",
};

/** Whether it is one that a class may ask for. */
export function isImageFeature(name: string): name is ImageFeature {
  return IMAGE_FEATURES.some((known) => known === name);
}

/**
 * What the parameter `imageFeatures` asks for, in Ceph's order: names with commas between them, as ceph-csi has it.
 * Else what is wrong with it, as the end of a sentence about the text.
 */
export function parseImageFeatures(text: string): ImageFeature[] | { wrong: string } {
  const names = text.split(",").map((name) => name.trim());
  const asked = new Set<string>();
  for (const name of names) {
    if (Object.hasOwn(REFUSED, name)) return { wrong: `refused for ${name}: ${REFUSED[name]}` };
    if (!isImageFeature(name))
      return { wrong: `refused for ${JSON.stringify(name)}: known are ${IMAGE_FEATURES.join(", ")}` };
    if (asked.has(name)) return { wrong: `refused: it has ${name} twice` };
    asked.add(name);
  }
  for (const feature of IMAGE_FEATURES) {
    const [why, needs] = [NEEDED[feature], NEEDS[feature]];
    if (why !== undefined && !asked.has(feature))
      return { wrong: `refused: it lacks ${feature}, and ${why}` };
    if (needs !== undefined && asked.has(feature) && !asked.has(needs))
      return { wrong: `refused: ${feature} needs ${needs}` };
  }
  return IMAGE_FEATURES.filter((feature) => asked.has(feature));
}
