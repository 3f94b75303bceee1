// Converts the output of `helm template` into manifests for users without Helm.

import { parseAllDocuments, stringify } from "yaml";

const HELM_LABELS = ["helm.sh/chart", "app.kubernetes.io/managed-by", "app.kubernetes.io/version"];

type Manifest = {
  readonly kind: string;
  readonly metadata: { namespace?: string; readonly labels?: Record<string, string> };
};

/** The kustomization sets the namespace. */
export function kustomizeBase(rendered: string): string {
  const manifests = parseAllDocuments(rendered).map((document) => document.toJS() as Manifest | null);
  const texts = manifests.flatMap((manifest) => {
    if (manifest === null) return [];
    delete manifest.metadata.namespace;
    for (const label of HELM_LABELS) delete manifest.metadata.labels?.[label];
    return [stringify(manifest, { aliasDuplicateObjects: false, lineWidth: 0 })];
  });
  return `# Written by tools/generate-kustomize-base.ts from the Helm chart; do not edit.\n---\n${texts.join("---\n")}`;
}
