// Creates and edits a trust rule: the tokens that it accepts, and the scope of the keys that it issues.

import "./trust-texts.ts";
import type { KeyScope } from "@postern/api/access-key-scope";
import type { Project } from "@postern/api/project";
import type { TrustRule } from "@postern/api/trust-rule";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { useParams, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { nameOf, PROJECTS, USERS } from "../../api/resources.ts";
import { withoutEmpty } from "../../api/spec-changes.ts";
import { useLive } from "../../api/use-live.ts";
import { Checkbox, GroupError, RadioField, RowsField, SelectField } from "../../components/forms/fields.tsx";
import { NameField } from "../../components/forms/name-field.tsx";
import { NameFields, type Names, NO_NAMES, namesOf } from "../../components/forms/name-fields.tsx";
import { EditObject, type FieldsProps, type FormDefinition, NewObject } from "../../components/forms/object-form.tsx";
import { TextField } from "../../components/forms/text-field.tsx";
import { duration } from "../../format/ages.ts";
import { inNaturalOrder } from "../../format/natural-order.ts";
import { asLines, linesIn } from "../../format/text-lists.ts";
import { projectOf } from "../../settings.ts";
import { named, t } from "../../texts/text.tsx";
import { draftOfScope, EMPTY_SCOPE, type ScopeDraft, scopeOf } from "../keys/scopes/scope-draft.ts";
import { ScopePicker } from "../keys/scopes/scope-picker.tsx";
import {
  type ClaimRow,
  choiceOf,
  ISSUERS,
  type IssuerChoice,
  needsOf,
  presetIn,
  suggestedClaims,
  withIssuer,
} from "./issuer-choices.ts";
import { addressIn, EVERYWHERE } from "./trust-rule-page.tsx";

const TTLS = ["300", "600", "1800", "3600"] as const;

type ConditionRow = { readonly expression: string; readonly message: string };

type Draft = Names & {
  /** A project, or `-` for the whole platform. */
  readonly place: string;
  readonly issuer: IssuerChoice;
  readonly url: string;
  readonly jwks: string;
  readonly audiences: string;
  /** A claim with several values has several rows. */
  readonly claims: readonly ClaimRow[];
  readonly conditions: readonly ConditionRow[];
  readonly singleUse: boolean;
  readonly user: string;
  readonly scope: ScopeDraft;
  /** The scope of the object: roles can have limits that the picker does not show. */
  readonly roles: KeyScope["roles"];
  readonly ttl: string;
};

const EMPTY: Draft = {
  ...NO_NAMES,
  place: EVERYWHERE,
  issuer: "github",
  url: "",
  jwks: "",
  audiences: location.origin,
  claims: suggestedClaims("github"),
  conditions: [],
  singleUse: false,
  user: "",
  scope: EMPTY_SCOPE,
  roles: [],
  ttl: "",
};

const draftOf = (rule: TrustRule): Draft => {
  const { namespace = "" } = rule.metadata;
  const { issuer, audiences, claims = [], conditions = [], singleUse, user, scope, ttl } = rule.spec;
  return {
    ...namesOf(rule),
    place: namespace === "" ? EVERYWHERE : projectOf(namespace),
    issuer: choiceOf(issuer),
    url: issuer.url ?? "",
    jwks: issuer.jwks ?? "",
    audiences: asLines(audiences),
    claims: claims.flatMap(({ claim, values }) => values.map((value) => ({ claim, value }))),
    conditions: conditions.map(({ expression, message = "" }) => ({ expression, message })),
    singleUse: singleUse === true,
    user,
    scope: draftOfScope(scope),
    roles: scope?.roles,
    ttl: ttl === undefined ? "" : String(ttl),
  };
};

const specOf = (draft: Draft): JsonObject => {
  const { displayName, description, issuer, url, jwks, audiences, conditions, singleUse, user, ttl } = draft;
  const scope = scopeOf(draft.scope);
  const roles = scope?.roles?.map((role) => draft.roles?.find((known) => known.role === role.role) ?? role);
  return {
    ...withoutEmpty({
      displayName,
      description,
      issuer: { preset: presetIn(issuer), url: url.trim(), jwks: jwks.trim() },
      audiences: linesIn(audiences),
      claims: claimsOf(draft.claims),
      conditions: conditions
        .filter(({ expression }) => expression.trim() !== "")
        .map(({ expression, message }) => withoutEmpty({ expression, message })),
      singleUse,
      user: user.trim(),
      ttl: ttl === "" ? undefined : Number(ttl),
    }),
    // An empty scope is kept, because it allows nothing.
    ...(scope === undefined ? {} : { scope: { ...scope, ...(roles === undefined ? {} : { roles }) } as JsonObject }),
  };
};

function claimsOf(rows: readonly ClaimRow[]) {
  const values = new Map<string, string[]>();
  for (const { claim, value } of rows)
    if (claim.trim() !== "") values.set(claim.trim(), [...(values.get(claim.trim()) ?? []), value.trim()]);
  return [...values].map(([claim, allowed]) => ({ claim, values: allowed }));
}

/** `place`: the preselected place of a new rule. */
const formFor = (place: string): FormDefinition<Draft, TrustRule> => ({
  page: "trust",
  kindOf: ({ place }) => (place === EVERYWHERE ? "ClusterTrustRule" : "TrustRule"),
  empty: { ...EMPTY, place, scope: { ...EMPTY_SCOPE, isLimited: place === EVERYWHERE } },
  draftOf,
  contentOf: (draft) => ({ spec: specOf(draft) }),
  addressOf: ({ place }) => addressIn(place),
  viewOf: ({ place, name }) => `/trust/${place}/${name}`,
  paths: [
    "metadata.namespace",
    "spec.issuer.jwks",
    "spec.issuer",
    "spec.audiences",
    "spec.claims",
    "spec.conditions",
    "spec.singleUse",
    "spec.user",
    "spec.scope",
    "spec.ttl",
  ],
  fieldsOf: (props) => <Fields {...props} />,
});

export function NewTrustRulePage() {
  const { project = EVERYWHERE }: { readonly project?: string } = useSearch({ strict: false });
  const form = useMemo(() => formFor(project), [project]);
  return <NewObject form={form} title={t("trust.new")} lead={t("trust.lead")} />;
}

export function EditTrustRulePage() {
  const { project = "", name = "" } = useParams({ strict: false });
  const form = useMemo(() => formFor(project), [project]);
  return <EditObject form={form} address={addressIn(project)} name={name} />;
}

function Fields({ draft, isNew, errorAt, field, onChange }: FieldsProps<Draft>) {
  const projects = useLive<Project>(PROJECTS);
  const places = useMemo(
    () => [
      { id: EVERYWHERE, label: t("trust.everywhere") },
      ...projects.items
        .map(nameOf)
        .sort(inNaturalOrder)
        .map((id) => ({ id, label: t("place.project", { name: id }) })),
    ],
    [projects.items],
  );
  const { exampleUrl, isUrlRequired, isClaimRequired } = needsOf(draft.issuer);
  const ttls = [...new Set([...TTLS, ...(draft.ttl === "" ? [] : [draft.ttl])])];
  return (
    <>
      <NameFields names={draft} isNew={isNew} errorAt={errorAt} onChange={onChange} />
      {isNew && (
        <SelectField
          label={t("trust.place")}
          value={draft.place}
          choices={places}
          onChange={(place) =>
            // A rule of a project gives access to that project unless another scope is chosen.
            onChange({ place, scope: { ...draft.scope, isLimited: place === EVERYWHERE } })
          }
          description={t("trust.place.hint")}
          error={errorAt("metadata.namespace")}
        />
      )}
      <h2>{t("trust.accepts.title")}</h2>
      <SelectField
        label={t("field.issuer")}
        value={draft.issuer}
        choices={ISSUERS.map((id) => ({ id, label: named("issuer", id) }))}
        onChange={(issuer) => onChange(withIssuer(issuer, draft, EMPTY.audiences))}
        description={named("trust.issuer.hint", draft.issuer)}
      />
      <TextField
        label={t("field.issuerUrl")}
        {...field("url", "spec.issuer")}
        description={t(isUrlRequired ? "trust.issuer.url.own" : "trust.issuer.url.preset")}
        {...(exampleUrl === undefined ? {} : { placeholder: exampleUrl })}
        isRequired={isUrlRequired}
        isMonospace
      />
      {(draft.issuer === "other" || draft.issuer === "kubernetes" || draft.jwks !== "") && (
        <TextField
          label={t("trust.issuer.jwks")}
          {...field("jwks", "spec.issuer.jwks")}
          description={t("trust.issuer.jwks.hint")}
          isMonospace
          isMultiline
        />
      )}
      <TextField
        label={t("trust.audiences")}
        {...field("audiences", "spec.audiences")}
        description={t("trust.audiences.hint")}
        isRequired
        isMonospace
        isMultiline
      />
      <RowsField<ClaimRow>
        label={t("trust.claims")}
        description={t(isClaimRequired ? "trust.claims.required" : "trust.claims.hint")}
        columns={[
          { id: "claim", label: t("trust.claim.name"), isMonospace: true },
          { id: "value", label: t("field.value"), isMonospace: true },
        ]}
        rows={draft.claims}
        empty={{ claim: "", value: "" }}
        addLabel={t("trust.claim.add")}
        removeLabel={({ claim }) => t("project.members.remove.of", { name: claim })}
        onChange={(claims) => onChange({ claims })}
        error={errorAt("spec.claims")}
      />
      <RowsField<ConditionRow>
        label={t("trust.conditions")}
        description={t("trust.conditions.hint")}
        columns={[
          { id: "expression", label: t("trust.condition.expression"), isMonospace: true },
          { id: "message", label: t("trust.condition.message") },
        ]}
        rows={draft.conditions}
        empty={{ expression: "", message: "" }}
        addLabel={t("trust.condition.add")}
        removeLabel={({ expression }) => t("project.members.remove.of", { name: expression })}
        onChange={(conditions) => onChange({ conditions })}
        error={errorAt("spec.conditions")}
      />
      <Checkbox
        isSelected={draft.singleUse}
        onChange={(singleUse) => onChange({ singleUse })}
        description={t("trust.once.hint")}
      >
        {t("trust.once")}
      </Checkbox>
      <GroupError text={errorAt("spec.singleUse")} />
      <h2>{t("trust.gives.title")}</h2>
      <NameField
        of={USERS}
        label={t("field.user")}
        {...field("user", "spec.user")}
        description={t("trust.user.hint")}
        isRequired
      />
      <SelectField
        label={t("field.ttl")}
        value={draft.ttl || "3600"}
        choices={ttls.map((id) => ({ id, label: duration(Number(id)) }))}
        onChange={(ttl) => onChange({ ttl })}
        error={errorAt("spec.ttl")}
      />
      <RadioField
        label={t("field.scope")}
        value={draft.scope.isLimited ? "limited" : "full"}
        choices={[
          { id: "limited", label: t("new.scope.limited") },
          {
            id: "full",
            label: draft.place === EVERYWHERE ? t("trust.scope.user") : t("trust.scope.project", { name: draft.place }),
          },
        ]}
        onChange={(id) => onChange({ scope: { ...draft.scope, isLimited: id === "limited" } })}
      />
      {draft.scope.isLimited && (
        <ScopePicker draft={draft.scope} onChange={(changes) => onChange({ scope: { ...draft.scope, ...changes } })} />
      )}
      <GroupError text={errorAt("spec.scope")} />
    </>
  );
}
