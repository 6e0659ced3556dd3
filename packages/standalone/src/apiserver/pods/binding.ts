import { conflict, invalid, type Pod, Pods, type UnstructuredObject } from "@mooring/store";
import type { Api } from "../api.ts";
import type { Call } from "../http/call.ts";
import { send } from "../http/respond.ts";
import { type Expected, readObject } from "../resources/decode-object.ts";
import { fieldValidation, writeOptions } from "../resources/options.ts";
import type { ItemTarget } from "../resources/target.ts";

const BINDING: Expected = { apiVersion: "v1", kind: "Binding", defaulted: true };

/** POST pods/NAME/binding: gives the pod its node, once. */
export async function handleBinding(call: Call, target: ItemTarget, { store }: Api): Promise<void> {
  const options = writeOptions(call, "CreateOptions");
  const binding = await readObject(call, target, fieldValidation(call, "CreateOptions"), BINDING);
  const node = nodeOf(binding);
  if (node === undefined) {
    throw invalid({ group: "", kind: "Binding" }, target.name, [
      { reason: "FieldValueRequired", message: "Required value", field: "target.name" },
    ]);
  }
  const namespace = target.namespace ?? "";
  const pod = await store.get<Pod>(Pods, { namespace, name: target.name });
  if (pod.spec?.nodeName) {
    throw conflict(
      Pods,
      target.name,
      `pod ${target.name} is already assigned to node ${JSON.stringify(pod.spec.nodeName)}`,
    );
  }
  if (pod.metadata.deletionTimestamp !== undefined) {
    throw conflict(Pods, target.name, `pod ${target.name} is being deleted, cannot be assigned to a host`);
  }
  const spec = { ...pod.spec, containers: pod.spec?.containers ?? [], nodeName: node };
  await store.update<Pod>(Pods, { ...pod, spec }, options);
  await send(call, 201, { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 });
}

function nodeOf(binding: UnstructuredObject): string | undefined {
  const target = binding.target;
  if (typeof target !== "object" || target === null) return undefined;
  const { name } = target as { name?: unknown };
  return typeof name === "string" && name !== "" ? name : undefined;
}
