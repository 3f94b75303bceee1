// New Ingresses and claims that name no class get the one that is marked as the default.
// Source: k8s.io/kubernetes/plugin/pkg/admission/{network/defaultingressclass,storage/storageclass/setdefault}/admission.go

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { AdmissionPlugin } from "@postern/apiserver/registry/admission-plugin";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";

type DefaultClass = {
  readonly name: string;
  /** The objects that get a class. */
  readonly resource: { readonly group: string; readonly resource: string };
  /** The member of `spec` that names it, and the older annotation. */
  readonly member: string;
  readonly annotation: string;
  /** Marks the default among the classes. */
  readonly marks: readonly string[];
};

export const INGRESS_CLASS: DefaultClass = {
  name: "DefaultIngressClass",
  resource: { group: "networking.k8s.io", resource: "ingresses" },
  member: "ingressClassName",
  annotation: "kubernetes.io/ingress.class",
  marks: ["ingressclass.kubernetes.io/is-default-class"],
};

export const STORAGE_CLASS: DefaultClass = {
  name: "DefaultStorageClass",
  resource: { group: "", resource: "persistentvolumeclaims" },
  member: "storageClassName",
  annotation: "volume.beta.kubernetes.io/storage-class",
  marks: ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"],
};

/** Of several default classes the newest counts, and of equally new ones the first by name. */
export function createDefaultClass(
  { name, resource, member, annotation, marks }: DefaultClass,
  classes: InstalledResource,
): AdmissionPlugin {
  const isDefault = ({ metadata: { annotations = {} } }: KubeObject): boolean =>
    marks.some((mark) => annotations[mark] === "true");
  const members = marks.map((mark) => Buffer.from(`"${mark}":`));
  // Most classes are none: there may be very many, and every new object looks for one.
  const mayBeDefault = (object: CachedObject): boolean => members.some((member) => object.mayHave(member));

  return {
    name,
    resource,
    admit({ operation, subresource, object }) {
      if (operation !== "create" || subresource !== "" || object === undefined) return object;
      const spec = (object["spec"] ?? {}) as { readonly [member: string]: unknown };
      if (spec[member] !== undefined || object.metadata.annotations?.[annotation] !== undefined) return object;
      const [chosen] = classes.view
        .list(classes.keys.prefix)
        .filter(mayBeDefault)
        .map((cached) => cached.decode())
        .filter(isDefault)
        .toSorted((a, b) => createdAt(b) - createdAt(a) || (nameOf(a) < nameOf(b) ? -1 : 1));
      return chosen === undefined ? object : ({ ...object, spec: { ...spec, [member]: nameOf(chosen) } } as KubeObject);
    },
  };
}

const nameOf = ({ metadata: { name = "" } }: KubeObject): string => name;
const createdAt = ({ metadata: { creationTimestamp } }: KubeObject): number => Date.parse(creationTimestamp ?? "") || 0;
