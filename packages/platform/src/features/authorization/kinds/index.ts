// Roles, bindings and reviews, as the decision point answers them.

import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import { RBAC_GROUP } from "@postern/apiserver/authorization/rbac/policy-rule";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { selfSubjectReviews } from "@postern/kubernetes/builtin/authentication/self-subject-reviews";
import { tokenReviews } from "@postern/kubernetes/builtin/authentication/token-reviews";
import { selfSubjectRulesReviews } from "@postern/kubernetes/builtin/authorization/self-subject-rules-reviews";
import {
  localSubjectAccessReviews,
  selfSubjectAccessReviews,
  subjectAccessReviews,
} from "@postern/kubernetes/builtin/authorization/subject-access-reviews";
import { clusterRoles } from "@postern/kubernetes/builtin/rbac/cluster-roles";
import { clusterRoleBindings, roleBindings } from "@postern/kubernetes/builtin/rbac/role-bindings";
import { roles } from "@postern/kubernetes/builtin/rbac/roles";
import type { Foundation } from "../../../foundation/foundation.ts";
import { mayDo } from "../../../foundation/kinds/may-do.ts";
import type { AccessKeys } from "../../access-keys/feature.ts";
import type { Directory } from "../../directory/directory.ts";
import type { Authorization } from "../feature.ts";
import { createReviewGuard, reviewedUser } from "../inside/review-guard.ts";

export function authorizationKinds(
  { configuration, names }: Foundation,
  needs: { readonly keys: AccessKeys; readonly authorization: Authorization; readonly directory: Directory },
): {
  /** The access reviews of the platform's own group. */
  readonly ownAccessReviews: ResourceDefinition;
  readonly policies: readonly ResourceDefinition[];
  readonly reviews: readonly ResourceDefinition[];
} {
  const { keys, authorization, directory } = needs;
  const { authorizer, ruleResolver, escalation } = authorization;
  const { authenticator, comparisons } = keys;
  return {
    ownAccessReviews: { ...selfSubjectAccessReviews({ authorizer }), group: names.managementGroup },
    policies: [roles(escalation), roleBindings(escalation), clusterRoles(escalation), clusterRoleBindings(escalation)],
    reviews: [
      tokenReviews({
        tokens: authenticator,
        audiences: [],
        shown: (user, asker) => reviewedUser(user, asker.user, authorization.sources),
        accepts: createReviewGuard({
          names,
          keys: keys.index,
          authorizer,
          directory,
          sources: authorization.sourceCheck.sources,
          requireAudience: configuration.accessKeys.requireAudience,
        }),
        limited: (asker, token, question) => comparisons.ask(asker, token, question, (answer) => answer !== undefined),
      }),
      selfSubjectReviews,
      subjectAccessReviews({ authorizer, showsReasons: (asker) => mayListBindings(asker, authorizer) }),
      localSubjectAccessReviews({ authorizer }),
      selfSubjectAccessReviews({ authorizer }),
      selfSubjectRulesReviews({ ruleResolver }),
    ],
  };
}

/** In all projects: the reasons of access reviews name them. A control plane asks about users of every project, and has no such permission. */
async function mayListBindings(context: RequestContext, authorizer: Authorizer): Promise<boolean> {
  const mayList = (resource: string) => mayDo(context, { verb: "list", apiGroup: RBAC_GROUP, resource }, authorizer);
  return (await mayList("rolebindings")) && (await mayList("clusterrolebindings"));
}
