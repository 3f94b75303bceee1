// The fields of an explanation: what an access key may do, and what it was used for.

import { type Infer, s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { KeyScope } from "./access-key-scope.ts";

const resourceAttributes = s
  .object({
    verb: s.string().describe("Verb, such as get, list, create or use."),
    group: s.string().describe("API group; empty for the core group."),
    resource: s.string().describe("Plural name of the resource."),
    subresource: s.string().describe("Subresource, such as kubeconfig."),
    namespace: s.string().describe("Namespace; empty for cluster-scoped resources, or for all namespaces."),
    name: s.string().describe("Name of the object; empty for all objects."),
  })
  .describe("A request for a resource of the management API.");

/** A scope in an answer: its schema lists no members, its type does. */
const scope = () => s.field<KeyScope>(s.anyObject().schema);

const resourceUse = s.object({
  target: scope().describe(
    "Entry of a scope that names the virtual cluster, space or cluster. Unset for the management API.",
  ),
  apiGroup: s.string().describe("API group; empty for the core group."),
  resource: s.string().describe("Plural name of the resource, with its subresource: pods/log."),
  verbs: s.list(s.string()).describe("Verbs of the requests that were allowed, sorted."),
});

const fields = s
  .object({
    spec: s
      .object({
        resourceAttributes,
        method: s.string().describe("HTTP method of the request to explain, together with path. Defaults to GET."),
        path: s
          .string()
          .describe(
            "Path of the request to explain, with its query, as sent by a client. Paths through the proxy are allowed.",
          ),
      })
      .describe("Request to explain, by attributes or by path. Unset: only report the use of the key."),
    status: s
      .object({
        allowed: s.boolean().describe("Whether the request would be allowed."),
        request: s.string().describe("How the server understands the request."),
        steps: s
          .list(
            s.object({
              step: s
                .string()
                .describe("Step of the decision: the key, the permissions of its owner, its scope and rules."),
              passed: s.boolean().describe("Whether this step allows the request."),
              reason: s.string().describe("What decided it."),
            }),
          )
          .describe("Steps of the decision. All of them must allow the request."),
        remedies: s
          .list(s.string())
          .describe("What to change so that the request is allowed, for each step that refuses it."),
        refusal: s.string().describe("Why the key itself is refused. Unset if it is valid."),
        usedSince: s
          .timestamp()
          .describe("Start of the recorded use. Use from the last minute may be lost when the server restarts."),
        leastScope: scope().describe(
          "Narrowest spec.scope that allows everything that the key, and the keys created with it, were used for.",
        ),
        beyondScopes: s.list(s.string()).describe("Use of the key that only rules, not a scope, can allow."),
        isUsageComplete: s.boolean().describe("False if the key was used for more than the server records."),
        uses: s
          .list(resourceUse)
          .describe(
            "Resources that the key, or a key created with it such as that of a kubeconfig, was used on, and with which verbs. At most 100.",
          ),
      })
      .describe("The explanation. Read-only."),
  })
  .describe("Explains what an access key may do.");

export type OwnedAccessKeyExplanation = KindOf<typeof fields>;
export type ExplanationStatus = NonNullable<OwnedAccessKeyExplanation["status"]>;
export type ExplainedRequest = Infer<typeof resourceAttributes>;
export type ResourceUse = Infer<typeof resourceUse>;
export const ownedAccessKeyExplanationSchema = kindSchema(fields.schema);
