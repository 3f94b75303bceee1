// What happens to a user on its way into the store.

import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import { type FieldError, invalidError } from "@postern/apimachinery/validation/field-error";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { RequestContext } from "@postern/apiserver/chain/handler";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import type { Directory } from "../../directory/directory.ts";
import type { PlatformNames } from "../../platform-names.ts";
import { mayImpersonate, mayImpersonateGroup } from "../impersonation.ts";
import { validateGroups } from "../validate-groups.ts";
import type { User } from "./user.ts";

export type UserStrategyDependencies = {
  readonly names: PlatformNames;
  readonly directory: Directory;
  readonly authorizer: Authorizer;
};

export function userStrategy(dependencies: UserStrategyDependencies): Strategy<User> {
  const { directory, names } = dependencies;
  const prepare = async (user: User, old: User | undefined, context: RequestContext): Promise<User> => {
    await checkGivenRights(user, old, context, dependencies);
    const { status: _, ...rest } = user;
    // The rest keeps the members that make it an object of this kind.
    return rest as User;
  };
  return {
    allowUnconditionalUpdate: true,
    prepareForCreate: (user, context) => prepare(user, undefined, context),
    prepareForUpdate: (user, old, context) => prepare(user, old, context),
    validate: (user) => validateUser(user, undefined, directory, names),
    validateUpdate: (user, old) => validateUser(user, old, directory, names),
  };
}

const subjectOf = ({ metadata, spec }: User): string => spec?.subject || (metadata.name ?? "");

/**
 * Permissions are granted to subjects and groups, so who writes a user gives them: only groups that the writer is in or may
 * impersonate, and of others' subjects only those that it may impersonate.
 */
async function checkGivenRights(
  user: User,
  old: User | undefined,
  context: RequestContext,
  { names, authorizer }: UserStrategyDependencies,
): Promise<void> {
  const refuse = (why: string) =>
    forbiddenRequestError({ group: names.managementGroup, resource: "users" }, user.metadata.name ?? "", why);
  for (const group of user.spec?.groups ?? []) {
    if (old?.spec?.groups?.includes(group) === true || context.user.groups.includes(group)) continue;
    if (await mayImpersonateGroup(group, context, authorizer)) continue;
    throw refuse(`you are not in the group ${JSON.stringify(group)} and may not impersonate it`);
  }
  const subject = subjectOf(user);
  const isOwnName = subject === user.metadata.name;
  if (isOwnName || subject === context.user.name || (old !== undefined && subject === subjectOf(old))) return;
  if (await mayImpersonate({ kind: "subject", name: subject }, context, { authorizer, names })) return;
  throw refuse(`you may not impersonate the subject ${JSON.stringify(subject)}`);
}

function validateUser(
  user: User,
  old: User | undefined,
  directory: Directory,
  names: PlatformNames,
): readonly FieldError[] {
  const subject = subjectOf(user);
  const path = user.spec?.subject === undefined || user.spec.subject === "" ? "metadata.name" : "spec.subject";
  const other = directory.userBySubject(subject);
  const isTaken = other !== undefined && other.name !== user.metadata.name;
  return [
    ...validateGroups(user.spec?.groups ?? [], "spec.groups"),
    ...(isReserved(subject, names)
      ? [invalidError(path, subject, `names that begin with system: or ${names.name}: are reserved`)]
      : []),
    ...(isTaken && (old === undefined || subjectOf(old) !== subject)
      ? [invalidError(path, subject, "is the subject of another user")]
      : []),
  ];
}

const isReserved = (subject: string, { name }: PlatformNames): boolean => {
  const folded = subject.trim().toLowerCase();
  return folded.startsWith("system:") || folded.startsWith(`${name.toLowerCase()}:`);
};
