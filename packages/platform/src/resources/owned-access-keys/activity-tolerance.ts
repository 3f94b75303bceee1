// Keeps what the server writes about the use of a key from standing in the way of clients that edit it.

import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ResourceStorage } from "@postern/apiserver/registry/resource-storage";
import { digestWithoutActivity } from "../../access-keys/activity-digest.ts";
import { readSealedAccessKey } from "../../access-keys/sealed-access-key.ts";

/**
 * A client that read a key before its activity was written, and nothing else since, may update and delete it as if it had read
 * the newest version.
 */
export function toleratingActivity(storage: Required<ResourceStorage>): Required<ResourceStorage> {
  /** The newest version, where the client's differs from it by the activity alone; else the client's. */
  const settle = async (
    context: RequestContext,
    name: string,
    given: string,
    newest: string | undefined,
  ): Promise<string> => {
    if (given === "" || given === "0" || given === newest) return given;
    const current = await storage.get(context, "", name, { resourceVersion: newest ?? "" });
    const { unchanged } = readSealedAccessKey(current.decodeSealed());
    if (unchanged === undefined || Number(given) < unchanged.since || Number(given) > current.revision) return given;
    return unchanged.digest === digestWithoutActivity(current.decode()) ? String(current.revision) : given;
  };

  return {
    ...storage,
    update: (context, namespace, name, request, options) =>
      storage.update(
        context,
        namespace,
        name,
        {
          ...request,
          async transform(current) {
            const submitted = await request.transform(current);
            const { resourceVersion = "" } = submitted.metadata;
            const settled = await settle(context, name, resourceVersion, current.metadata.resourceVersion);
            if (settled === resourceVersion) return submitted;
            return { ...submitted, metadata: { ...submitted.metadata, resourceVersion: settled } };
          },
        },
        options,
      ),
    async delete(context, namespace, name, options) {
      const given = options.preconditions?.resourceVersion;
      if (given === undefined) return await storage.delete(context, namespace, name, options);
      const resourceVersion = await settle(context, name, given, undefined);
      return await storage.delete(context, namespace, name, {
        ...options,
        preconditions: { ...options.preconditions, resourceVersion },
      });
    },
  };
}
