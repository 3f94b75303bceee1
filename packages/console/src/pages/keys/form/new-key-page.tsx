// Creates an access key: beside the form, it describes the scope in words, and shows the manifest and the command. The value is shown once.

import type { KeyScope } from "@postern/api/access-key-scope";
import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import type { Team } from "@postern/api/team";
import type { User } from "@postern/api/user";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { createResourceClient } from "@postern/client/resource-client";
import { useMutation } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { type FormEvent, useEffect, useMemo, useRef, useState } from "react";
import { stringify } from "yaml";
import { useApi } from "../../../api/api-context.tsx";
import { ACCESS_KEYS, nameOf, TEAMS, titleOf, USERS, VIRTUAL_CLUSTERS } from "../../../api/resources.ts";
import { useLive } from "../../../api/use-live.ts";
import { useMay } from "../../../api/use-may.ts";
import { Button } from "../../../components/button.tsx";
import { Code, DownloadButton } from "../../../components/copy-text.tsx";
import { DocsLink } from "../../../components/docs-link.tsx";
import { Checkbox, GroupError, RadioField, SelectField } from "../../../components/forms/fields.tsx";
import { placeErrors } from "../../../components/forms/place-errors.ts";
import { TextField } from "../../../components/forms/text-field.tsx";
import { ErrorNotice, Notice } from "../../../components/notice.tsx";
import { PageHead, Section } from "../../../components/page-head.tsx";
import { nameFrom } from "../../../format/name-from.ts";
import { inNaturalOrder } from "../../../format/natural-order.ts";
import { projectOf } from "../../../settings.ts";
import { Text, t } from "../../../texts/text.tsx";
import { scopeOf } from "../scopes/scope-draft.ts";
import { ScopeList } from "../scopes/scope-list.tsx";
import { SecretValue } from "../secret-value.tsx";
import { commandOf, type KeyDraft, manifestOf } from "./key-draft.ts";
import { ON_A_DAY, secondsUntil } from "./key-end.ts";
import { KeyLimits } from "./key-limits.tsx";
import { draftFor, type KeySearch, PRESETS, type Preset, presetDraft } from "./key-presets.ts";
import { ROLES_INSIDE, rulesOf } from "./role-rules.ts";

const PATHS = [
  "metadata.name",
  "spec.displayName",
  "spec.description",
  "spec.user",
  "spec.ttl",
  "spec.scope",
  "spec.rules",
] as const;

export function NewKeyPage() {
  const api = useApi();
  const navigate = useNavigate();
  const search: KeySearch = useSearch({ strict: false });
  const [given] = useState(() => draftFor(search));
  const [preset, setPreset] = useState(given.preset);
  const [draft, setDraft] = useState(given.draft);
  // Nothing is chosen: the form asks once whether that is meant.
  const [empty, setEmpty] = useState<"asked" | "meant">();
  const form = useRef<HTMLFormElement>(null);
  const set = (changes: Partial<KeyDraft>): void => setDraft((before) => ({ ...before, ...changes }));
  const create = useMutation({
    async mutationFn(): Promise<Made> {
      api.warnings.take();
      const keys = createResourceClient<OwnedAccessKey>(api.client, ACCESS_KEYS);
      const made = await keys.create(manifestOf(draft), { fieldValidation: "Strict", fieldManager: "console" });
      const { key: value = "", scope: limits } = made.spec ?? {};
      const warnings = api.warnings.take().filter((text) => !text.startsWith(OLDER_FIELD));
      return { name: nameOf(made), value, scope: limits, warnings };
    },
    // The response contains the value: only this component keeps it.
    gcTime: 0,
  });
  const scope = scopeOf(draft);
  const isEmpty = scope !== undefined && Object.keys(scope).length === 0;
  const isOver = draft.ttl === ON_A_DAY && secondsUntil(draft.day, Date.now()) === 0;
  const errors = placeErrors(create.error, PATHS);
  const isAsked = isEmpty && empty !== undefined;
  const isWrong = create.isError || (isAsked && empty === "asked");
  useEffect(() => {
    if (isWrong) form.current?.querySelector<HTMLElement>(WRONG)?.focus();
  }, [isWrong]);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isOver) form.current?.querySelector<HTMLElement>(WRONG)?.focus();
    else if (isEmpty && empty !== "meant") setEmpty("asked");
    else create.mutate();
  };
  if (create.data !== undefined)
    return (
      <MadeKey
        made={create.data}
        onStored={(name) => {
          create.reset();
          void navigate({ to: "/keys/$name", params: { name } });
        }}
      />
    );
  return (
    <>
      <PageHead above={<Link to="/keys">{t("keys.title")}</Link>} title={t("key.create")} lead={t("new.lead")} />
      <form ref={form} className="beside" onSubmit={submit}>
        <div className="form">
          <Fields
            draft={draft}
            preset={preset}
            errorAt={errors.at}
            clusterError={isAsked ? t("new.scope.empty") : undefined}
            onChange={set}
            onPreset={(id) => {
              setPreset(id);
              set(presetDraft(id));
            }}
          />
          {isAsked && preset !== "ci" && (
            <div className="stack">
              <GroupError text={t("new.scope.empty")} />
              <Checkbox isSelected={empty === "meant"} onChange={(isMeant) => setEmpty(isMeant ? "meant" : "asked")}>
                {t("new.scope.meant")}
              </Checkbox>
            </div>
          )}
          {create.isError && errors.arePlaced && (
            <Notice tone="bad">
              <span role="alert">{t("form.errors")}</span>
            </Notice>
          )}
          {create.isError && !errors.arePlaced && <ErrorNotice error={create.error} />}
          <div className="actions">
            <Button kind="primary" type="submit" isPending={create.isPending}>
              {t("new.submit")}
            </Button>
            <Link to="/keys" className="button quiet">
              {t("action.cancel")}
            </Link>
          </div>
        </div>
        <Preview draft={draft} scope={scope} />
      </form>
    </>
  );
}

/** No newer field says what a key may do inside clusters, and the form has chosen this one. */
const OLDER_FIELD = "spec.rules: deprecated";

type FieldProps = {
  readonly draft: KeyDraft;
  readonly onChange: (changes: Partial<KeyDraft>) => void;
};

function Fields(
  props: FieldProps & {
    readonly preset: Preset;
    readonly errorAt: (path: string) => string | undefined;
    readonly clusterError: string | undefined;
    readonly onPreset: (preset: Preset) => void;
  },
) {
  const { draft, preset, errorAt, clusterError, onChange, onPreset } = props;
  // Until a name is typed, it follows the display name.
  const [isNameOwn, setNameOwn] = useState(false);
  return (
    <>
      <div className="presets">
        <RadioField
          label={t("new.preset")}
          value={preset}
          choices={PRESETS.map((id) => ({
            id,
            label: t(`new.preset.${id}`),
            description: t(`new.preset.${id}.hint`),
          }))}
          onChange={onPreset}
        />
      </div>
      <TextField
        label={t("new.displayName")}
        description={t("new.displayName.hint")}
        value={draft.displayName}
        onChange={(displayName) => onChange({ displayName, ...(isNameOwn ? {} : { name: nameFrom(displayName) }) })}
        error={errorAt("spec.displayName")}
        autoFocus
      />
      <TextField
        label={t("field.name")}
        description={t("new.name.hint")}
        value={draft.name}
        onChange={(name) => {
          setNameOwn(name !== "");
          onChange({ name });
        }}
        error={errorAt("metadata.name")}
        isMonospace
      />
      <TextField
        label={t("form.description")}
        value={draft.description}
        onChange={(description) => onChange({ description })}
        error={errorAt("spec.description")}
        isMultiline
      />
      <OwnerField
        draft={draft}
        onChange={onChange}
        error={errorAt("spec.user")}
        isForProgram={preset === "ci" || preset === "gitops"}
      />
      <KeyLimits
        draft={draft}
        onChange={onChange}
        errorAt={errorAt}
        {...(preset === "ci"
          ? { picker: <ClusterChoice draft={draft} onChange={onChange} error={clusterError} /> }
          : {})}
      />
      <RadioField
        label={t("new.inside")}
        value={draft.inside}
        choices={ROLES_INSIDE.map((id) => ({
          id,
          label: t(`new.inside.${id}`),
          description: t(`new.inside.${id}.hint`),
        }))}
        onChange={(inside) => onChange({ inside })}
      />
      <GroupError text={errorAt("spec.rules")} />
    </>
  );
}

/** Rules share lists: a manifest has each of them. */
const ALL_WRITTEN = { aliasDuplicateObjects: false };

/** Beside the form: the scope in words, and the command and the manifest that make the same key. */
function Preview({ draft, scope }: { readonly draft: KeyDraft; readonly scope: ReturnType<typeof scopeOf> }) {
  const texts = useMemo(
    () => ({ yaml: stringify(manifestOf(draft), ALL_WRITTEN), command: commandOf(draft) }),
    [draft],
  );
  return (
    <aside className="aside-panel">
      <Section title={t("new.preview")}>
        <ScopeList limits={{ scope, rules: rulesOf(draft.inside) }} />
        {draft.inside !== "owner" && (
          <p className="hint">
            <Text
              id="new.inside.words"
              values={{
                role: <strong>{t(`new.inside.${draft.inside}`)}</strong>,
                words: t(`new.inside.${draft.inside}.hint`),
              }}
            />
          </p>
        )}
      </Section>
      {texts.command !== undefined && <Code label={t("form.command")} text={texts.command} />}
      <Code
        label={t("form.manifest")}
        text={texts.yaml}
        actions={<DownloadButton text={texts.yaml} fileName={`${draft.name || "key"}.yaml`} />}
      />
    </aside>
  );
}

type Made = {
  readonly name: string;
  readonly value: string;
  readonly scope: KeyScope | undefined;
  readonly warnings: readonly string[];
};

/** The value of the new key, once. */
function MadeKey({ made, onStored }: { readonly made: Made; readonly onStored: (name: string) => void }) {
  const { name, value, scope, warnings } = made;
  return (
    <>
      <PageHead above={<Link to="/keys">{t("keys.title")}</Link>} title={t("new.made", { name })} />
      <div className="card narrow">
        <SecretValue name={name} value={value} scope={scope} />
      </div>
      {warnings.map((text) => (
        <Notice key={text} tone="warn">
          {text}
        </Notice>
      ))}
      <div className="actions">
        <Button kind="primary" onPress={() => onStored(name)}>
          {t("secret.stored")}
        </Button>
      </div>
    </>
  );
}

/** Fields with an error, and errors of groups of fields. */
const WRONG = '[aria-invalid="true"], [data-invalid] button, [data-error]';

/** One virtual cluster, for a pipeline that has no other work. */
function ClusterChoice({ draft, onChange, error }: FieldProps & { readonly error: string | undefined }) {
  const { items } = useLive<VirtualClusterInstance>(VIRTUAL_CLUSTERS);
  const [chosen = ""] = draft.virtualClusters;
  // The form is rendered with each letter that is typed.
  const choices = useMemo(
    () =>
      items
        .map((cluster) => `${projectOf(cluster.metadata.namespace ?? "")}/${nameOf(cluster)}`)
        .sort(inNaturalOrder)
        .map((id) => ({ id, label: id.replace("/", " / ") })),
    [items],
  );
  return (
    <SelectField
      label={t("field.virtualCluster")}
      value={chosen}
      choices={chosen === "" ? [{ id: "", label: t("new.cluster.none") }, ...choices] : choices}
      onChange={(id) => onChange({ virtualClusters: id === "" ? [] : [id] })}
      description={t("new.cluster.hint")}
      error={error}
    />
  );
}

const isBot = ({ spec }: User): boolean => spec?.kind === "Bot";

/** The user, their teams, and others if the user may create keys for them. */
function OwnerField(props: FieldProps & { readonly error: string | undefined; readonly isForProgram: boolean }) {
  const { draft, onChange, error, isForProgram } = props;
  const { session } = useApi();
  const users = useMay({ verb: "impersonate", group: "", resource: "users" });
  const teams = useLive<Team>(TEAMS);
  const others = useLive<User>(USERS, { isWanted: users.isAllowed });
  const choices = useMemo(
    () => [
      { id: "me", label: t("new.owner.me", { name: session.displayName }) },
      ...teams.items.map((team) => ({
        id: `team/${nameOf(team)}`,
        label: t("new.owner.team", { name: titleOf(team) }),
      })),
      // Bots first: they own the keys of programs.
      ...others.items
        .filter((user) => nameOf(user) !== session.user)
        .toSorted((one, other) => Number(isBot(other)) - Number(isBot(one)))
        .map((user) => {
          const name = titleOf(user);
          return { id: `user/${nameOf(user)}`, label: isBot(user) ? t("new.owner.bot", { name }) : name };
        }),
    ],
    [session, teams.items, others.items],
  );
  const owner =
    draft.owner === "me" ? session.displayName : (choices.find(({ id }) => id === draft.owner)?.label ?? draft.owner);
  const bounds = t("new.owner.hint", { owner });
  if (choices.length === 1) return <p className="hint">{bounds}</p>;
  return (
    <SelectField
      label={t("field.owner")}
      value={draft.owner}
      choices={choices}
      onChange={(id) => onChange({ owner: id })}
      description={
        isForProgram ? (
          <>
            {bounds} {t("new.owner.program")} <DocsLink to="/docs/guides/ci#bots">{t("new.owner.bots")}</DocsLink>
          </>
        ) : (
          bounds
        )
      }
      error={error}
    />
  );
}
