import { createHost } from "../host/create-host.ts";
import { poolContract } from "./contract.ts";

poolContract("directory", createHost());
