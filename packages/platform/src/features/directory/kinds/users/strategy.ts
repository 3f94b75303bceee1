// The strategy of users.

import type { PlatformNames } from "@postern/api/platform-names";
import type { User } from "@postern/api/user";
import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import {
  duplicateError,
  type FieldError,
  forbiddenError,
  indexPath,
  invalidError,
} from "@postern/apimachinery/validation/field-error";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { isReadableName } from "../../../../foundation/kinds/readable-name.ts";
import { validateGroups } from "../../../../foundation/kinds/validate-groups.ts";
import { validateSourceRanges } from "../../../access-keys/kinds/owned-access-keys/validation.ts";
import { mayImpersonate } from "../../../authorization/impersonation.ts";
import { provisionerOf } from "../../../authorization/key-standing.ts";
import { firstRefusedGroup, mayAdminister } from "../../../authorization/kinds/grant-check.ts";
import type { Directory } from "../../directory.ts";
import {
  checkAdministratorsStay,
  checkPowerless,
  checkProvisioned,
  type ProvisionedDeps,
  withProvisioner,
} from "../provisioned.ts";

export function userStrategy(deps: ProvisionedDeps): Strategy<User> {
  const { directory, names } = deps;
  const prepare = async (user: User, old: User | undefined, context: RequestContext): Promise<User> => {
    if (provisionerOf(context.credential) === undefined) await checkGivenPermissions(user, old, context, deps);
    else checkProvisionedUser(user, old, context, deps);
    const { status: _, ...rest } = await withProvisioner(user, old, holderOf(user), context, deps);
    // The rest keeps the members that make it an object of this kind.
    return rest as User;
  };
  return {
    allowUnconditionalUpdate: true,
    prepareForCreate: (user, context) => prepare(user, undefined, context),
    prepareForUpdate: (user, old, context) => prepare(user, old, context),
    async prepareForDelete(user, context) {
      if (provisionerOf(context.credential) === undefined) await checkGoverns(user, context, deps);
      else {
        checkProvisioned(user, holderOf(user), context, deps);
        checkStaysAdministered(user, deps);
      }
      return user;
    },
    validate: (user) => validateUser(user, undefined, directory, names),
    validateUpdate: (user, old) => validateUser(user, old, directory, names),
  };
}

const subjectOf = ({ metadata, spec }: User): string => spec?.subject || (metadata.name ?? "");

/** The identity of a user follows from these: changing them takes the user over, locks or unlocks it. */
const IDENTITY_FIELDS = ["disabled", "email", "kind", "subject", "username"] as const;
/** A sign-in as one of these is the user: whatever the user may do, adding one requires permission to impersonate it. */
const identitiesOf = ({ spec }: User): readonly string[] =>
  (spec?.identities ?? []).map(({ provider, subject }) => JSON.stringify([provider, subject])).toSorted();
/** They lock the user out of other networks, or let it in from there. */
const rangesOf = ({ spec }: User): string => JSON.stringify(spec?.allowedSourceRanges ?? []);
/** Fields that people sign in by; a bot has none of them. */
const SIGN_IN_FIELDS = ["username", "email", "passwordRef", "codesRef"] as const;

const holderOf = ({ metadata: { name = "" } }: User) => ({ kind: "user", name }) as const;

const checkStaysAdministered = (user: User, deps: ProvisionedDeps): void =>
  checkAdministratorsStay(holderOf(user), ({ name }) => name === user.metadata.name, deps);

/** A directory gives no permissions: it creates users that have none, and locks, unlocks and describes them. Throws ApiError 403. */
function checkProvisionedUser(user: User, old: User | undefined, context: RequestContext, deps: ProvisionedDeps): void {
  const holder = holderOf(user);
  const isGiven = groupsOf(user, deps).length > (old === undefined ? 0 : groupsOf(old, deps).length);
  const signsIn = identitiesOf(user).join() !== (old === undefined ? "" : identitiesOf(old).join());
  const isOther = old !== undefined && (subjectOf(user) !== subjectOf(old) || user.spec?.kind !== old.spec?.kind);
  if (old === undefined) {
    const groups = [...groupsOf(user, deps), deps.names.userGroup(holder.name)];
    checkPowerless(holder, { name: subjectOf(user), groups }, deps);
  } else {
    checkProvisioned(old, holder, context, deps);
    if (user.spec?.disabled === true && old.spec?.disabled !== true) checkStaysAdministered(old, deps);
  }
  if (!signsIn && !isOther && (old === undefined || !isGiven)) return;
  const { managementGroup: group } = deps.names;
  throw forbiddenRequestError(
    { group, resource: "users" },
    holder.name,
    "a directory does not change who signs in as the user",
  );
}

/**
 * Permissions are granted to subjects and groups, so the writer of a user gives them: only groups that the writer may hand out, teams
 * that they lead into among them, and only subjects that it may impersonate. A writer that changes or demotes a user holds no less than it.
 */
async function checkGivenPermissions(
  user: User,
  old: User | undefined,
  context: RequestContext,
  deps: ProvisionedDeps,
): Promise<void> {
  const { names, authorizer } = deps;
  const name = user.metadata.name ?? "";
  const refuse = (why: string) => forbiddenRequestError({ group: names.managementGroup, resource: "users" }, name, why);
  const before = old === undefined ? [] : groupsOf(old, deps);
  const after = groupsOf(user, deps);
  const gained = after.filter((group) => !before.includes(group));
  const group = await firstRefusedGroup(gained, context, deps);
  if (group !== undefined) throw refuse(`you are not in the group ${JSON.stringify(group)} and may not impersonate it`);

  const subject = subjectOf(user);
  const isNewSubject = old === undefined ? subject !== name : subject !== subjectOf(old);
  // A caller without a user who creates one for itself gains the permissions of that user.
  const takesOver = isNewSubject || (old === undefined && subject === context.user.name);
  if (takesOver && !(await mayImpersonate({ kind: "subject", name: subject }, context, { authorizer, names }))) {
    throw refuse(`you may not impersonate the subject ${JSON.stringify(subject)}`);
  }
  const known = old === undefined ? [] : identitiesOf(old);
  const hasNewIdentity = identitiesOf(user).some((identity) => !known.includes(identity));
  if (hasNewIdentity && !(await mayImpersonate({ kind: "user", name }, context, { authorizer, names }))) {
    throw refuse("adding an identity, with which one signs in as the user, requires the verb impersonate on it");
  }
  if (old === undefined) return;
  const isDemoted = before.some((had) => !after.includes(had));
  const isChanged =
    IDENTITY_FIELDS.some((field) => (user.spec?.[field] || "") !== (old.spec?.[field] || "")) ||
    identitiesOf(user).join() !== identitiesOf(old).join() ||
    rangesOf(user) !== rangesOf(old);
  if (isDemoted || isChanged) await checkGoverns(old, context, deps);
}

/** Throws 403 for a caller with fewer permissions than the user. */
async function checkGoverns(user: User, context: RequestContext, deps: ProvisionedDeps): Promise<void> {
  const { names } = deps;
  const { name = "" } = user.metadata;
  const as = {
    name: subjectOf(user),
    groups: [...groupsOf(user, deps), names.userGroup(name)],
  };
  if (await mayAdminister({ kind: "user", name }, as, context, deps)) return;
  const why =
    "the user has permissions that you do not have: locking, changing or deleting it requires the verb impersonate on it";
  throw forbiddenRequestError({ group: names.managementGroup, resource: "users" }, name, why);
}

/** Its own, and those of the teams that it is in by its name or by a group. */
function groupsOf({ metadata: { name = "" }, spec }: User, { directory, names }: ProvisionedDeps) {
  const groups = [...(spec?.groups ?? []), ...(spec?.identities ?? []).flatMap((identity) => identity.groups ?? [])];
  return [...groups, ...directory.teamsWith(name, groups).map((team) => names.teamGroup(team.name))];
}

const NAME_FIELDS = ["subject", "username"] as const;

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
    ...NAME_FIELDS.flatMap((field) => {
      const value = user.spec?.[field] ?? "";
      // Values that an earlier release accepted can still be changed.
      if (isReadableName(value) || old?.spec?.[field] === value) return [];
      return [
        invalidError(`spec.${field}`, value, "must not have invisible characters, or spaces at its beginning or end"),
      ];
    }),
    ...validateGroups(user.spec?.groups ?? [], "spec.groups"),
    ...validateSourceRanges(user.spec?.allowedSourceRanges ?? []),
    ...(user.spec?.kind === "Bot"
      ? SIGN_IN_FIELDS.filter((field) => (user.spec?.[field] ?? "") !== "").map((field) =>
          forbiddenError(`spec.${field}`, "a bot cannot sign in"),
        )
      : []),
    ...validateIdentities(user, directory),
    ...(isReserved(subject, names)
      ? [invalidError(path, subject, `names that begin with system: or ${names.name}: are reserved`)]
      : []),
    ...(isTaken && (old === undefined || subjectOf(old) !== subject)
      ? [invalidError(path, subject, "is the subject of another user")]
      : []),
  ];
}

function validateIdentities({ metadata, spec }: User, directory: Directory): readonly FieldError[] {
  const identities = spec?.identities ?? [];
  if (spec?.kind === "Bot" && identities.length > 0) return [forbiddenError("spec.identities", "a bot cannot sign in")];
  return identities.flatMap(({ provider, subject, groups = [] }, at) => {
    const path = indexPath("spec.identities", at);
    const isSame = (other: { readonly provider: string; readonly subject: string }): boolean =>
      other.provider === provider && other.subject === subject;
    const holder = directory.userByIdentity(provider, subject);
    return [
      ...validateGroups(groups, `${path}.groups`),
      ...(provider === "" || subject === "" ? [invalidError(path, "", "needs a provider and a subject")] : []),
      ...(identities.findIndex(isSame) === at ? [] : [duplicateError(path, provider)]),
      ...(holder !== undefined && holder.name !== metadata.name
        ? [invalidError(`${path}.subject`, subject, "belongs to another user")]
        : []),
    ];
  });
}

const isReserved = (subject: string, { name }: PlatformNames): boolean => {
  const folded = subject.trim().toLowerCase();
  return folded.startsWith("system:") || folded.startsWith(`${name.toLowerCase()}:`);
};
