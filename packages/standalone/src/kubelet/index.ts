export type { ExecRequest } from "./exec.ts";
export type { LogRequest } from "./logs.ts";
export type { ForwardRequest } from "./port-forward.ts";
export { type Kubelet, type KubeletOptions, startKubelet } from "./start.ts";
