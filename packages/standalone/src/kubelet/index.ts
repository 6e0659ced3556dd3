export type { ExecRequest } from "./exec.ts";
export type { LogRequest } from "./logs.ts";
export { type Kubelet, type KubeletOptions, startKubelet } from "./start.ts";
