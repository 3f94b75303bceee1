// The permissions in a role that the outer surface does not allow to the credential of the request: for a surface behind another.

import type { AuthorizationAttributes, Authorizer } from "@postern/apiserver/authorization/authorizer";
import { FULL_AUTHORITY, type PolicyRule } from "@postern/apiserver/authorization/rbac/policy-rule";
import { breakDown, countPieces, MAX_PIECES } from "@postern/apiserver/authorization/rbac/rule-coverage";
import type { RequestContext } from "@postern/apiserver/context/request-context";

/** Occurs in no name and no path, so that it represents all of them: only a rule for all names allows it. */
const ANY = "\0";

/** The smallest parts of `wanted` that the outer authorizer would not allow by themselves; empty without an outer authorizer. */
export async function rulesDeniedOutside(
  {
    outerAuthorizer,
    user,
    credential,
    pause = () => undefined,
  }: Pick<RequestContext, "user" | "credential"> & {
    readonly outerAuthorizer?: Authorizer | undefined;
    /** Others get their turn between the questions. */
    readonly pause?: () => Promise<void> | undefined;
  },
  namespace: string,
  wanted: readonly PolicyRule[],
): Promise<readonly PolicyRule[]> {
  if (outerAuthorizer === undefined) return [];
  const isOpen = async (piece: PolicyRule): Promise<boolean> => {
    for (const question of questionsAbout(piece, namespace)) {
      const decision = outerAuthorizer.authorize({ user, credential, ...question });
      const { verdict } = decision instanceof Promise ? await decision : decision;
      if (verdict !== "allow") return false;
    }
    return true;
  };
  const closedOf = async (rules: readonly PolicyRule[]): Promise<readonly PolicyRule[]> => {
    const closed: PolicyRule[] = [];
    for (const rule of rules) {
      for (const piece of breakDown(rule)) {
        await pause();
        if (!(await isOpen(piece))) closed.push(piece);
      }
    }
    return closed;
  };
  const pieces = countPieces(wanted);
  // Most credentials are not limited: for these, two questions answer those about thousands of rules.
  if (pieces > FEW_PIECES && (await closedOf(FULL_AUTHORITY)).length === 0) return [];
  // Too many questions to ask one by one.
  return pieces > MAX_PIECES ? wanted : await closedOf(wanted);
}

/** Asked about one by one without a look at the whole first. */
const FEW_PIECES = 8;

type Question = Omit<AuthorizationAttributes, "user" | "credential">;

/** Requests that are all open only where everything that the piece opens is. Permissions granted for the cluster hold in every namespace. */
function questionsAbout(
  {
    verbs: [verb = ""],
    apiGroups: [apiGroup = ""],
    resources: [whole = ""],
    resourceNames,
    nonResourceURLs,
  }: PolicyRule,
  namespace: string,
): readonly Question[] {
  const base = { verb, apiGroup, apiVersion: "*", resource: "", subresource: "", namespace: "", name: "", path: "" };
  const [url] = nonResourceURLs;
  if (url !== undefined) return [{ ...base, isResourceRequest: false, path: url.replace(/\*$/, ANY) }];
  const [resource = "", subresource = ""] = whole.split("/");
  const names = resourceNames.length === 0 ? ["", ANY] : resourceNames;
  return (namespace === "" ? ["", ANY] : [namespace]).flatMap((where) =>
    names.map((name) => ({ ...base, isResourceRequest: true, resource, subresource, namespace: where, name })),
  );
}
