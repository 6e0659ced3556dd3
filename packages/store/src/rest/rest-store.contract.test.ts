import { objectStoreContract } from "../contract/index.ts";
import { openStore } from "../testing/open-store.ts";
import { startTestApiServer } from "../testing/test-api-server.ts";
import { RestStore } from "./rest-store.ts";

objectStoreContract("RestStore", async (t) => {
  const api = await startTestApiServer(t, await openStore(t));
  const store = new RestStore({ server: api.url, tls: {}, namespace: "default" });
  t.after(() => store.close());
  return store;
});
