// The fields of VirtualClusterTemplates.

import { type Infer, s } from "@postern/apimachinery/schema/builder";
import type { KindOf } from "@postern/apimachinery/schema/kind-schema";
import { ignoredNames, ignoredObjects, ignoredString } from "./ignored-fields.ts";
import { ownerFields } from "./owner.ts";
import type { Project } from "./project.ts";
import { templateFields } from "./template-fields.ts";

export const VIRTUAL_CLUSTER_TEMPLATE = "VirtualClusterTemplate";

const parameterFields = s.object({
  variable: s
    .string({ minLength: 1 })
    .required()
    .describe("Name of the parameter: team or app.team. A template refers to it as {{ .Values.team }}."),
  label: s.string().describe("Name to show in forms."),
  description: s.string().describe("Description to show in forms."),
  type: s
    .string({ enum: ["", "string", "multiline", "boolean", "number", "password"] })
    .describe("Type of the value. Defaults to string. Only multiline values may have line breaks."),
  options: s.list(s.string()).describe("Allowed values. Defaults to any."),
  min: s.int64().describe("Smallest number."),
  max: s.int64().describe("Largest number."),
  required: s.boolean().describe("Whether instances must set a value."),
  defaultValue: s.string().describe("Value if the instance sets none."),
  validation: s.string().describe("Regular expression (RE2) that values must match."),
  invalidation: s.string().describe("Regular expression (RE2) that values must not match."),
  placeholder: ignoredString("Text that a form shows in an empty field."),
  section: s.string().describe("Section of a form."),
});

const parametersField = s.list(parameterFields);

const versionFields = s.object({
  version: s.string({ minLength: 1 }).required().describe("Version, as three numbers: 1.2.0."),
  template: templateFields.describe("Template of the virtual cluster in this version."),
  parameters: parametersField.describe("Parameters of this version."),
});

const specFields = s.object({
  displayName: s.string().describe("Display name. Defaults to the name of the object."),
  description: s.string().describe("What the template is for."),
  owner: ownerFields.describe("User or team that owns the template. Stored, but grants no permissions: use roles."),
  template: templateFields.describe("Template of the virtual cluster, if there are no versions."),
  parameters: parametersField.describe("Parameters of the template, if there are no versions."),
  versions: s
    .list(versionFields)
    .describe("Versions of the template. Defaults to the newest for instances that set no version."),
  access: ignoredObjects("Access rules: use roles, and spec.allowedTemplates of projects."),
  spaceTemplateRef: s
    .object({ name: s.string().describe("Name of the template.") })
    .describe("Template of the namespace. Stored, but has no effect."),
});

export const virtualClusterTemplateFields = s
  .object({
    spec: specFields.describe("Template, parameters and versions."),
    status: s.object({ apps: ignoredNames("Apps of the template.") }).describe("Observed state of the template."),
  })
  .describe(
    "A template of virtual clusters, with parameters. Instances refer to it in spec.templateRef, and set the parameters in spec.parameters.",
  );

export type VirtualClusterTemplate = KindOf<typeof virtualClusterTemplateFields>;
export type TemplateParameter = Infer<typeof parameterFields>;

/** Without a list every template is allowed. A star counts only as the whole name. */
export function allowsTemplate({ spec }: Pick<Project, "spec">, template: string): boolean {
  const allowed = (spec?.allowedTemplates ?? []).filter(isOfVirtualClusters);
  if ((spec?.allowedTemplates ?? []).length === 0) return true;
  return allowed.some(({ name }) => name === "*" || name === template);
}

/** "" where the project has none. */
export const defaultTemplate = ({ spec }: Pick<Project, "spec">): string =>
  (spec?.allowedTemplates ?? []).find((allowed) => isOfVirtualClusters(allowed) && allowed.isDefault === true)?.name ??
  "";

const isOfVirtualClusters = ({ kind = "" }: { readonly kind?: string }): boolean =>
  kind === VIRTUAL_CLUSTER_TEMPLATE || kind === "";
