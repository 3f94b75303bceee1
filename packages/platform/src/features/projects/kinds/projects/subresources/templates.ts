// GET projects/{name}/templates: the templates for instances of the project. Clients that require one for spaces get a template that changes nothing.

import type { PlatformNames } from "@postern/api/platform-names";
import { allowsTemplate, defaultTemplate } from "@postern/api/virtual-cluster-template";
import { notFoundError } from "@postern/apimachinery/meta/api-error";
import { s } from "@postern/apimachinery/schema/builder";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { Subresource } from "@postern/apiserver/registry/resource-definition";
import type { ObjectLookup } from "../../../../../foundation/lookup/object-lookup.ts";

const KIND = "ProjectTemplates";
/** The original command line makes no space without a template. */
const PLAIN_SPACE = "default";

const projectTemplatesFields = s
  .object({
    defaultVirtualClusterTemplate: s.string().describe("Default template for virtual clusters."),
    virtualClusterTemplates: s.list(s.anyObject()).describe("Templates of virtual clusters."),
    defaultSpaceTemplate: s.string().describe("Default template for spaces."),
    spaceTemplates: s.list(s.anyObject()).describe("Templates of spaces."),
  })
  .describe("The templates that a project may use.");

export const projectTemplates = ({
  names,
  lookup,
}: {
  readonly names: Pick<PlatformNames, "managementGroup">;
  readonly lookup: Pick<ObjectLookup, "project" | "virtualClusterTemplates">;
}): Subresource => ({
  name: "templates",
  kind: { group: names.managementGroup, version: "v1", kind: KIND },
  schema: kindSchema(projectTemplatesFields.schema),
  description: "Templates for instances of the project.",
  async get({ info: { name } }) {
    const project = lookup.project(name);
    if (project === undefined) {
      throw notFoundError({ group: names.managementGroup, resource: "projects" }, name);
    }
    const plain = { metadata: { name: PLAIN_SPACE }, spec: { displayName: "Plain namespace", template: {} } };
    return {
      apiVersion: `${names.managementGroup}/v1`,
      kind: KIND,
      metadata: { name },
      defaultVirtualClusterTemplate: defaultTemplate(project),
      virtualClusterTemplates: lookup
        .virtualClusterTemplates()
        .filter((template) => allowsTemplate(project, template.metadata.name ?? "")),
      defaultSpaceTemplate: PLAIN_SPACE,
      spaceTemplates: [plain],
    };
  },
});
