/**
 * Tests of volumes in a Ceph cluster that `.ci/run` has every day, by `npm run test:rbd -- --short`: `npm run test:rest` leaves them to that.
 */
export const RBD_SHORT = [
  "packages/engine/src/pools/rbd/contract.test.ts",
  "packages/engine/src/pools/rbd/rbd.test.ts",
  "packages/engine/src/node/shut-out/shut-out.test.ts",
  "packages/engine/src/node/migration/rbd.test.ts",
];
