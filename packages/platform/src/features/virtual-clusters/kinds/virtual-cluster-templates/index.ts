// VirtualClusterTemplates: templates for virtual clusters, with parameters.

import type { PlatformNames } from "@postern/api/platform-names";
import {
  VIRTUAL_CLUSTER_TEMPLATE,
  type VirtualClusterTemplate,
  virtualClusterTemplateFields,
} from "@postern/api/virtual-cluster-template";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { indexPath, invalidError } from "@postern/apimachinery/validation/field-error";
import { defineResource, type ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { ageColumn } from "@postern/kubernetes/builtin/builtin-resource";
import { validateParameters } from "../../render-template.ts";

const strategy: Strategy<VirtualClusterTemplate> = {
  allowUnconditionalUpdate: true,
  validate: validateTemplate,
  validateUpdate: validateTemplate,
};

export const virtualClusterTemplates = ({
  names,
}: {
  readonly names: Pick<PlatformNames, "managementGroup">;
}): ResourceDefinition =>
  defineResource({
    group: names.managementGroup,
    version: "v1",
    kind: VIRTUAL_CLUSTER_TEMPLATE,
    plural: "virtualclustertemplates",
    namespaced: false,
    schema: kindSchema(virtualClusterTemplateFields.schema),
    hasStatus: true,
    columns: [
      { name: "Display name", type: "string", description: "Display name.", value: ".spec.displayName" },
      ageColumn,
    ],
    strategy,
  });

function validateTemplate({ spec }: VirtualClusterTemplate) {
  const ofVersions = (spec?.versions ?? []).flatMap(({ version = "", parameters = [] }, index) => {
    const path = indexPath("spec.versions", index);
    const isVersion = /^\d{1,9}\.\d{1,9}\.\d{1,9}$/.test(version);
    return [
      ...(isVersion ? [] : [invalidError(`${path}.version`, version, "must be three numbers, such as 1.2.0")]),
      ...validateParameters(parameters, `${path}.parameters`),
    ];
  });
  return [...validateParameters(spec?.parameters ?? [], "spec.parameters"), ...ofVersions];
}
