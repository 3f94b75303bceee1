// Explains a refused virtual cluster: which part of its name matches nothing, the project or the virtual cluster.

import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { ApiClient } from "@postern/client/api-client";
import { createResourceClient, listAll } from "@postern/client/resource-client";
import { UsageError } from "../usage-error.ts";
import type { VirtualClusterName } from "../virtual-cluster-name.ts";

export type VirtualClusterPlace = VirtualClusterName & {
  readonly group: string;
  readonly namespacePrefix: string;
};

/** The maximum number of suggested names. */
const MOST_NAMES = 10;

/**
 * Resolves like `ask`. If it is refused and the caller cannot see the virtual cluster, rejects with UsageError: one line that
 * names the visible ones. The server filters them, as all lists.
 */
export async function explainNotFound<T>(
  client: ApiClient,
  { group, namespacePrefix, project, virtualCluster }: VirtualClusterPlace,
  ask: () => Promise<T>,
): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!isApiError(error, "NotFound") && !isApiError(error, "Forbidden")) throw error;
    const list = (resource: string) =>
      listAll(createResourceClient(client, { group, version: "v1", resource })).catch((why: unknown) => {
        // A key with rules may not list: the first refusal is the one of what was asked for.
        throw isApiError(why, "Forbidden") ? error : why;
      });
    const visible = (await list("virtualclusterinstances")).items.map(({ metadata: { namespace = "", name = "" } }) =>
      namespace.startsWith(namespacePrefix) ? `${namespace.slice(namespacePrefix.length)}/${name}` : name,
    );
    if (visible.includes(`${project}/${virtualCluster}`)) throw error;
    const projects = (await list("projects")).items.map(({ metadata }) => metadata.name);
    // A RoleBinding in the namespace of a project shows its virtual clusters, and not the project.
    const isVisible = projects.includes(project) || visible.some((name) => name.startsWith(`${project}/`));
    const missing = isVisible
      ? `virtual cluster ${JSON.stringify(virtualCluster)} in the project ${project}`
      : `project ${JSON.stringify(project)}`;
    const [namesake, another] = visible.filter((name) => name.endsWith(`/${virtualCluster}`));
    const advice = namesake === undefined || another !== undefined ? choiceOf(visible) : `did you mean ${namesake}?`;
    throw new UsageError(`no ${missing} that you can see; ${advice}`, { cause: error });
  }
}

/** For the end of a message. */
export function choiceOf(names: readonly string[]): string {
  if (names.length === 0) return "you cannot see any virtual cluster: ask for a role in its project";
  const rest = names.length - MOST_NAMES;
  return `virtual clusters that you can see: ${names.slice(0, MOST_NAMES).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}
