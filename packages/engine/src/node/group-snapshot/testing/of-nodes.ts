/** Failpoints that only groups on more than one node pass: `cluster-crash.test.ts` has them, `crash.test.ts` all others. */
export const OF_NODES =
  /^engine\/group-snapshot\/(quiesce|copy|release|note|record-(cutting|releasing)|report-(quiesced|cut))$/;
