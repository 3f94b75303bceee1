// New PersistentVolumes and claims are held until nothing uses them.
// Source: k8s.io/kubernetes/plugin/pkg/admission/storage/storageobjectinuseprotection/admission.go

import type { AdmissionPlugin } from "@postern/apiserver/registry/admission-plugin";

export const VOLUME_PROTECTION = "kubernetes.io/pv-protection";
export const CLAIM_PROTECTION = "kubernetes.io/pvc-protection";

const FINALIZERS: ReadonlyMap<string, string> = new Map([
  ["persistentvolumes", VOLUME_PROTECTION],
  ["persistentvolumeclaims", CLAIM_PROTECTION],
]);

export const VOLUME_PROTECTION_ADMISSION: readonly AdmissionPlugin[] = [...FINALIZERS].map(([resource, finalizer]) => ({
  name: "StorageObjectInUseProtection",
  resource: { group: "", resource },
  admit({ operation, subresource, object }) {
    if (operation !== "create" || subresource !== "" || object === undefined) return object;
    const { finalizers = [] } = object.metadata;
    if (finalizers.includes(finalizer)) return object;
    return { ...object, metadata: { ...object.metadata, finalizers: [...finalizers, finalizer] } };
  },
}));
