import { objectStoreContract } from "../contract/index.ts";
import { openStore } from "../testing/open-store.ts";

objectStoreContract("LocalStore", (t) => openStore(t));
