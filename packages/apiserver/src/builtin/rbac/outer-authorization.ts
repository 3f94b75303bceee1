// What of a grant lies beyond what the credential of the request opens on its way here, when the surface lies behind another.

import type { AuthorizationAttributes, Authorizer } from "../../authorization/authorizer.ts";
import { breakDown, countPieces, MAX_PIECES } from "../../authorization/rbac/covers.ts";
import { FULL_AUTHORITY, type PolicyRule } from "../../authorization/rbac/policy-rule.ts";
import type { RequestContext } from "../../context/request-context.ts";

/** No name and no path has it in it, so that it stands for all of them: only what opens every one opens it. */
const ANY = "\0";

/** The smallest pieces of `wanted` that whoever let the request pass would not let pass by themselves; none where nobody was asked. */
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
      const { verdict } = await outerAuthorizer.authorize({ user, credential, ...question });
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
  // Too many questions to ask one by one: then everything has to be open.
  if (countPieces(wanted) > MAX_PIECES) return (await closedOf(FULL_AUTHORITY)).length === 0 ? [] : wanted;
  return await closedOf(wanted);
}

type Question = Omit<AuthorizationAttributes, "user" | "credential">;

/** Requests that are all open only where everything that the piece opens is. What is granted for the cluster holds in every namespace. */
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
