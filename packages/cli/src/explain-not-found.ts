// Says which part of the name of a virtual cluster stands for nothing: the project, or what is in it.

import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { ApiClient } from "@postern/client/api-client";
import { createResourceClient, listAll } from "@postern/client/resource-client";
import { UsageError } from "./usage-error.ts";
import type { VirtualClusterName } from "./virtual-cluster-name.ts";

export type VirtualClusterPlace = VirtualClusterName & {
  readonly group: string;
  /** The namespace of the project. */
  readonly namespace: string;
};

/** So many names are a help; more are a flood. */
const MOST_NAMES = 10;

/**
 * What `ask` resolves with. Where it rejects with NotFound, rejects with UsageError: one line with the names that the caller can see,
 * which the server filters as it does all lists.
 */
export async function explainNotFound<T>(
  client: ApiClient,
  { group, namespace, project, virtualCluster }: VirtualClusterPlace,
  ask: () => Promise<T>,
): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!isApiError(error, "NotFound")) throw error;
    const namesOf = async (resource: string, place: { readonly namespace?: string } = {}): Promise<string[]> => {
      const { items } = await listAll(createResourceClient(client, { group, version: "v1", resource, ...place }));
      return items.map(({ metadata }) => metadata.name ?? "");
    };
    const projects = await namesOf("projects");
    if (!projects.includes(project)) throw missing(`project ${JSON.stringify(project)}`, projects, error);
    const inIt = await namesOf("virtualclusterinstances", { namespace });
    throw missing(`virtual cluster ${JSON.stringify(virtualCluster)} in the project ${project}`, inIt, error);
  }
}

function missing(what: string, names: readonly string[], cause: unknown): UsageError {
  const shown = names.slice(0, MOST_NAMES);
  const rest = names.length - shown.length;
  const others = names.length === 0 ? "there is none" : `there are ${shown.join(", ")}`;
  return new UsageError(`no ${what} that you can see; ${others}${rest > 0 ? ` and ${rest} more` : ""}`, { cause });
}
