/** What an operator does next, where several refusals end in the same. */
export const LIST_SNAPSHOTS = "ListSnapshots lists all snapshots, and their groups.";
/** Next step for a path that the volume is not at. */
export const USED_PATH = "Give a path that it is staged or published at on this node.";
