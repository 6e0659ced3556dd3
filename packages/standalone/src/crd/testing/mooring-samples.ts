import type { KubeObject } from "@mooring/store";
import { ENGINE_SAMPLES } from "./engine-samples.ts";
import { SIDECAR_SAMPLES } from "./sidecar-samples.ts";

/** One of each kind of Mooring's own group, with every field. */
export const MOORING_SAMPLES: readonly KubeObject[] = [...ENGINE_SAMPLES, ...SIDECAR_SAMPLES];
