import type { Call } from "../http/call.ts";
import { readObject } from "./decode-object.ts";
import { fieldValidation, writeOptions } from "./options.ts";
import { itemRepresentation, sendObject } from "./representation.ts";
import { type ItemTarget, keyOfTarget } from "./target.ts";

/** PUT namespaces/NAME/finalize: takes `spec.finalizers` of the body and nothing else. */
export async function handleFinalize(call: Call, target: ItemTarget): Promise<void> {
  const representation = itemRepresentation(call);
  const options = writeOptions(call, "UpdateOptions");
  const object = await readObject(call, target, fieldValidation(call, "UpdateOptions"));
  const { resourceVersion } = object.metadata;
  const { finalizers = [] } = (object.spec ?? {}) as { finalizers?: unknown };
  const body = { metadata: resourceVersion ? { resourceVersion } : {}, spec: { finalizers } };
  const updated = await target.objects.patch(
    keyOfTarget(target),
    { type: "merge", body },
    { ...options, subresource: "finalize" },
  );
  await sendObject(call, target, { code: 200, object: updated }, representation);
}
