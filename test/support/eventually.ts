/** As everywhere: see the store's helpers for tests. */
export { type EventuallyOptions, eventually } from "@mooring/store/testing";
