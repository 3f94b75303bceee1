// Edits an access key: names, TTL and scope. Its value and owner stay.

import type { KeyScope } from "@postern/api/access-key-scope";
import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { useParams } from "@tanstack/react-router";
import { ACCESS_KEYS } from "../../../api/resources.ts";
import { withoutEmpty } from "../../../api/spec-changes.ts";
import { NameFields, type Names, NO_NAMES, namesOf } from "../../../components/forms/name-fields.tsx";
import { EditObject, type FormDefinition } from "../../../components/forms/object-form.tsx";
import { Notice } from "../../../components/notice.tsx";
import { Section } from "../../../components/page-head.tsx";
import { t } from "../../../texts/text.tsx";
import { draftOfScope, EMPTY_SCOPE, type ScopeDraft, scopeOf } from "../scopes/scope-draft.ts";
import { ScopeList } from "../scopes/scope-list.tsx";
import { ON_A_DAY, ttlOf } from "./key-end.ts";
import { KeyLimits } from "./key-limits.tsx";

type Draft = Names &
  ScopeDraft & {
    readonly ttl: string;
    readonly day: string;
    readonly restarts: boolean;
    /** When the TTL begins, in milliseconds. */
    readonly begin: number;
    /** The scope of the object: the picker does not show all of it. */
    readonly before: KeyScope | undefined;
    readonly rules: readonly JsonObject[] | undefined;
  };

const draftOf = (key: OwnedAccessKey): Draft => ({
  ...namesOf(key),
  ...draftOfScope(key.spec?.scope),
  ttl: key.spec?.ttl === undefined ? "default" : String(key.spec.ttl),
  day: "",
  restarts: key.spec?.ttlAfterLastActivity === true,
  begin: Date.parse(key.metadata.creationTimestamp ?? ""),
  before: key.spec?.scope,
  rules: key.spec?.rules,
});

/** Keeps what the picker does not show. */
function wholeScope(draft: Draft): KeyScope | undefined {
  const scope = scopeOf(draft);
  if (scope === undefined) return undefined;
  const roles = scope.roles?.map((role) => draft.before?.roles?.find((known) => known.role === role.role) ?? role);
  return {
    ...scope,
    ...(roles === undefined ? {} : { roles }),
    ...(draft.before?.rules === undefined ? {} : { rules: draft.before.rules }),
  };
}

const specOf = (draft: Draft): JsonObject => {
  const { displayName, description, restarts } = draft;
  const ttl = ttlOf(draft, draft.begin);
  const isRestarted = restarts && ttl !== "0" && draft.ttl !== ON_A_DAY;
  const scope = wholeScope(draft);
  return {
    ...withoutEmpty({ displayName, description, ttlAfterLastActivity: isRestarted }),
    ...(ttl === "default" ? {} : { ttl: Number(ttl) }),
    // An empty scope is kept, because it allows nothing. A scope consists of strings and lists.
    ...(scope === undefined ? {} : { scope: scope as JsonObject }),
  };
};

const FORM: FormDefinition<Draft, OwnedAccessKey> = {
  page: "key",
  kindOf: () => "OwnedAccessKey",
  empty: {
    ...NO_NAMES,
    ...EMPTY_SCOPE,
    ttl: "",
    day: "",
    restarts: false,
    begin: 0,
    before: undefined,
    rules: undefined,
  },
  draftOf,
  contentOf: (draft) => ({ spec: specOf(draft) }),
  addressOf: () => ACCESS_KEYS,
  viewOf: ({ name }) => `/keys/${name}`,
  paths: ["spec.ttl", "spec.ttlAfterLastActivity", "spec.scope"],
  fieldsOf: ({ draft, isNew, errorAt, onChange }) => (
    <>
      <NameFields names={draft} isNew={isNew} errorAt={errorAt} onChange={onChange} />
      <KeyLimits draft={draft} begin={draft.begin} onChange={onChange} errorAt={errorAt} />
      <Section title={t("form.manifest.after")}>
        <ScopeList limits={{ scope: wholeScope(draft), rules: draft.rules }} />
      </Section>
      <Notice tone="info">{t("key.edit.atOnce")}</Notice>
    </>
  ),
};

export function EditKeyPage() {
  const { name = "" } = useParams({ strict: false });
  return <EditObject form={FORM} address={ACCESS_KEYS} name={name} />;
}
