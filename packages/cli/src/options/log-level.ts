import { Option } from "commander";

/** `--log-level`. */
export function logLevelOption(): Option {
  return new Option("--log-level <level>", "least level that is logged")
    .choices(["debug", "info", "warn", "error"])
    .default("info");
}
