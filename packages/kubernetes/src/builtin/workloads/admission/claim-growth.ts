// A claim grows if it is bound and its class allows it.
// Source: k8s.io/kubernetes/plugin/pkg/admission/storage/persistentvolume/resize/admission.go

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { type AdmissionPlugin, forbiddenByAdmission } from "@postern/apiserver/registry/admission-plugin";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";
import { type Claim, requestedStorage } from "../volumes/volumes.ts";

const OLD_ANNOTATION = "volume.beta.kubernetes.io/storage-class";
const NOT_ALLOWED =
  "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize";

const classOf = ({ metadata, spec }: Claim & KubeObject): string =>
  metadata.annotations?.[OLD_ANNOTATION] ?? spec?.storageClassName ?? "";

export function createClaimGrowthAdmission(classes: InstalledResource): AdmissionPlugin {
  function allowsGrowth(name: string): boolean {
    // Stored objects have passed the schema of their kind.
    const found = classes.view.get(classes.keys.of("", name))?.decode() as
      | (KubeObject & { readonly allowVolumeExpansion?: boolean })
      | undefined;
    return found?.allowVolumeExpansion === true;
  }

  return {
    name: "PersistentVolumeClaimResize",
    resource: { group: "", resource: "persistentvolumeclaims" },
    validate(attributes) {
      const { operation, subresource, object, oldObject } = attributes;
      if (operation !== "update" || subresource !== "" || object === undefined || oldObject === undefined) return;
      const [next, old] = [object as Claim & KubeObject, oldObject as Claim & KubeObject];
      if (requestedStorage(next) <= requestedStorage(old)) return;
      if (old.status?.phase !== "Bound") {
        throw forbiddenByAdmission(attributes, "Only bound persistent volume claims can be expanded");
      }
      const name = classOf(next);
      if (name !== classOf(old) || !allowsGrowth(name)) throw forbiddenByAdmission(attributes, NOT_ALLOWED);
    },
  };
}
