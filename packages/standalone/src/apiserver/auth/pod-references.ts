import type { Pod } from "@mooring/store";

/** The objects of its namespace that a pod names, by resource. */
export function namedBy({ spec, metadata }: Pod): Readonly<Record<string, ReadonlySet<string>>> {
  const [configmaps, secrets, persistentvolumeclaims] = [
    new Set<string>(),
    new Set<string>(),
    new Set<string>(),
  ];
  const add = (to: Set<string>, name: string | undefined) => name !== undefined && to.add(name);
  for (const volume of spec?.volumes ?? []) {
    add(configmaps, volume.configMap?.name);
    add(secrets, volume.secret?.secretName);
    add(secrets, volume.csi?.nodePublishSecretRef?.name);
    add(persistentvolumeclaims, volume.persistentVolumeClaim?.claimName);
    if (volume.ephemeral !== undefined) persistentvolumeclaims.add(`${metadata.name}-${volume.name}`);
    for (const each of volume.projected?.sources ?? []) {
      add(configmaps, each.configMap?.name);
      add(secrets, each.secret?.name);
      // The authority of the API server is in each namespace.
      if (each.serviceAccountToken !== undefined) add(configmaps, "kube-root-ca.crt");
    }
  }
  for (const { env, envFrom } of [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])]) {
    for (const { valueFrom } of env ?? []) {
      add(configmaps, valueFrom?.configMapKeyRef?.name);
      add(secrets, valueFrom?.secretKeyRef?.name);
    }
    for (const { configMapRef, secretRef } of envFrom ?? []) {
      add(configmaps, configMapRef?.name);
      add(secrets, secretRef?.name);
    }
  }
  for (const { name } of spec?.imagePullSecrets ?? []) add(secrets, name);
  const serviceaccounts = new Set([spec?.serviceAccountName ?? "default"]);
  return { configmaps, secrets, serviceaccounts, persistentvolumeclaims };
}

/** For whom the tokens are that a pod mounts; empty: for this server. */
export function tokenAudiences({ spec }: Pod): ReadonlySet<string> {
  const sources = (spec?.volumes ?? []).flatMap(({ projected }) => projected?.sources ?? []);
  return new Set(
    sources.flatMap(({ serviceAccountToken }) =>
      serviceAccountToken === undefined ? [] : [serviceAccountToken.audience ?? ""],
    ),
  );
}
