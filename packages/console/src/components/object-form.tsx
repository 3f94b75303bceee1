// Creates or changes an object: beside the fields stand the manifest and the command that do the same, and what the server refuses stands at
// the field that it refuses.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import { formatApiVersion } from "@postern/apimachinery/meta/group-version";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { StatusCause } from "@postern/apimachinery/meta/status";
import { createResourceClient, type ResourceAddress } from "@postern/client/resource-client";
import { useMutation } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { stringify } from "yaml";
import { useApi } from "../api/api-context.tsx";
import { nameOf } from "../api/resources.ts";
import { mergePatchOf } from "../api/spec-changes.ts";
import { useMay } from "../api/use-may.ts";
import { quoted } from "../format/shell.ts";
import { type TextId, t } from "../texts/text.tsx";
import { Code, DownloadButton } from "./copy-text.tsx";
import { LISTS, ListLink, ObjectPage, type PageKind } from "./object-page.tsx";
import { Button, ErrorNotice, Notice, PageHead } from "./ui.tsx";

/** What the server has to say about the field at a path, such as `spec.issuer.url`. */
export type FaultAt = (path: string) => string | undefined;

export type FieldsProps<Draft> = {
  readonly draft: Draft;
  readonly isNew: boolean;
  readonly faultAt: FaultAt;
  readonly onChange: (changes: Partial<Draft>) => void;
};

/** What is particular to the form of a kind. A draft is the object as the fields have it, texts for the most part. */
export type FormDefinition<Draft extends { readonly name: string }, T extends KubeObject> = {
  readonly page: PageKind;
  readonly kindOf: (draft: Draft) => string;
  readonly empty: Draft;
  readonly draftOf: (object: T) => Draft;
  /** What the form says of the object beside its metadata, such as its spec, without what was left empty. The rest stays as it is. */
  readonly contentOf: (draft: Draft) => JsonObject;
  readonly addressOf: (draft: Draft) => ResourceAddress;
  /** The address of the view of an object. */
  readonly viewOf: (draft: Draft) => string;
  /** Of the fields, as the server names them. Names and description come on top. */
  readonly paths: readonly string[];
  readonly fieldsOf: (props: FieldsProps<Draft>) => ReactNode;
};

type ObjectFormProps<Draft extends { readonly name: string }, T extends KubeObject> = {
  readonly form: FormDefinition<Draft, T>;
  /** Absent: a new object is created. */
  readonly object?: T;
  /** After a conflict: the form begins again with the object as it is now. */
  readonly onReload?: () => void;
};

function ObjectForm<Draft extends { readonly name: string }, T extends KubeObject>(props: ObjectFormProps<Draft, T>) {
  const { form: definition, object, onReload } = props;
  const { kindOf, empty, draftOf, contentOf, addressOf, viewOf, fieldsOf, page, paths } = definition;
  const api = useApi();
  const navigate = useNavigate();
  const [draft, setDraft] = useState<Draft>(() => (object === undefined ? empty : draftOf(object)));
  const isNew = object === undefined;
  const { name } = draft;
  const address = addressOf(draft);
  const { group, resource, namespace } = address;
  const right = useMay({
    group,
    verb: isNew ? "create" : "update",
    resource,
    ...(namespace === undefined ? {} : { namespace }),
    ...(isNew ? {} : { name }),
  });
  const texts = textsOf({
    address,
    kind: kindOf(draft),
    name,
    content: contentOf(draft),
    before: object === undefined ? undefined : contentOf(draftOf(object)),
  });
  const open = (saved: string): void => void navigate({ to: viewOf({ ...draft, name: saved }) });
  const save = useMutation({
    async mutationFn() {
      api.warnings.take();
      const objects = createResourceClient(api.client, address);
      const options = { fieldValidation: "Strict", fieldManager: "console" } as const;
      const saved = isNew
        ? await objects.create(texts.manifest, options)
        : await objects.patch(name, { type: "merge", patch: guarded(texts.patch, object) }, options);
      return { name: nameOf(saved), warnings: api.warnings.take() };
    },
    onSuccess({ name: saved, warnings }) {
      if (warnings.length === 0) open(saved);
    },
  });
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (save.isError)
      form.current?.querySelector<HTMLElement>('[aria-invalid="true"], [data-invalid] button, [data-fault]')?.focus();
  }, [save.isError]);

  const faults = placeFaults(save.error, [...(isNew ? ["metadata.name"] : []), ...NAME_PATHS, ...paths]);
  const content = fieldsOf({
    draft,
    isNew,
    faultAt: faults.at,
    onChange: (changes) => setDraft((before) => ({ ...before, ...changes })),
  });
  const isConflict = isApiError(save.error, "Conflict") && onReload !== undefined;
  if (save.data !== undefined && save.data.warnings.length > 0)
    return (
      <div className="stack">
        {save.data.warnings.map((text) => (
          <Notice key={text} tone="warn">
            {text}
          </Notice>
        ))}
        <div>
          <Button kind="primary" onPress={() => open(save.data.name)}>
            {t("form.goOn", { name: save.data.name })}
          </Button>
        </div>
      </div>
    );
  return (
    <form
      ref={form}
      className="beside"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <div className="form">
        {content}
        {save.isError && faults.arePlaced && (
          <Notice tone="bad">
            <span role="alert">{t("form.faults")}</span>
          </Notice>
        )}
        {save.isError && !faults.arePlaced && !isConflict && <ErrorNotice error={save.error} />}
        {isConflict && (
          <div className="notice bad" role="alert">
            <p>{t("form.conflict")}</p>
            <Button onPress={onReload}>{t("form.reload")}</Button>
          </div>
        )}
        {right.isKnown && !right.isAllowed && <Notice tone="warn">{right.reason}</Notice>}
        <div className="actions">
          <Button
            kind="primary"
            type="submit"
            isPending={save.isPending}
            isDisabled={!right.isAllowed || (!isNew && texts.isUnchanged)}
          >
            {isNew ? t("form.create") : t("form.save")}
          </Button>
          <Link to={isNew ? LISTS[page] : viewOf(draft)} className="button quiet">
            {t("action.cancel")}
          </Link>
        </div>
      </div>
      <aside className="aside-panel">
        <Code
          label={isNew ? t("form.manifest") : t("form.manifest.after")}
          text={texts.yaml}
          actions={<DownloadButton text={texts.yaml} fileName={texts.fileName} />}
        />
        {texts.isUnchanged ? (
          <p className="hint">{t("form.unchanged")}</p>
        ) : (
          <Code label={t("form.command")} text={texts.command} />
        )}
      </aside>
    </form>
  );
}

type Texts = {
  readonly manifest: JsonObject;
  readonly patch: JsonObject;
  readonly yaml: string;
  readonly fileName: string;
  readonly command: string;
  readonly isUnchanged: boolean;
};

/** `before`: the content of the object that is changed. */
function textsOf(given: {
  readonly address: ResourceAddress;
  readonly kind: string;
  readonly name: string;
  readonly content: JsonObject;
  readonly before: JsonObject | undefined;
}): Texts {
  const { address, kind, name, content, before } = given;
  const { group, version, resource, namespace } = address;
  const place = namespace === undefined ? {} : { namespace };
  const manifest = { apiVersion: formatApiVersion({ group, version }), kind, metadata: { name, ...place }, ...content };
  const patch = before === undefined ? content : mergePatchOf(before, content);
  const where = namespace === undefined ? [] : ["--namespace", namespace];
  const fileName = `${name || kind.toLowerCase()}.yaml`;
  const words =
    before === undefined
      ? ["kubectl", "create", "--filename", fileName]
      : [
          "kubectl",
          "patch",
          `${resource}.${group}`,
          name,
          ...where,
          "--type",
          "merge",
          "--patch",
          JSON.stringify(patch),
        ];
  return {
    manifest,
    patch,
    yaml: stringify(manifest),
    fileName,
    command: words.map(quoted).join(" "),
    isUnchanged: before !== undefined && Object.keys(patch).length === 0,
  };
}

/** Refused with a conflict if the object has changed since the form was opened. */
const guarded = (patch: JsonObject, { metadata }: KubeObject): JsonObject => ({
  ...patch,
  metadata: { resourceVersion: metadata.resourceVersion ?? null },
});

const NAME_PATHS = ["spec.displayName", "spec.description"];

/** Gives each cause of a refusal to the field that it is about. */
function placeFaults(error: Error | null, paths: readonly string[]) {
  const causes = causesOf(error);
  const found = new Map<string, string[]>();
  let left = causes.length;
  for (const { field = "", message = "" } of causes) {
    // What is about more than one field stands at the first of them.
    const path = paths.find((each) => isWithin(field, each)) ?? paths.find((each) => isWithin(each, field));
    if (path === undefined) continue;
    left--;
    found.set(path, [...(found.get(path) ?? []), message]);
  }
  const at: FaultAt = (path) => found.get(path)?.join("; ");
  return { at, arePlaced: causes.length > 0 && left === 0 };
}

function causesOf(error: Error | null): readonly StatusCause[] {
  if (!isApiError(error)) return [];
  // A name that is taken has no cause of its own.
  if (error.reason === "AlreadyExists") return [{ field: "metadata.name", message: error.message }];
  return (error.details?.causes ?? []).filter(({ field = "" }) => field !== "");
}

const isWithin = (path: string, outer: string): boolean =>
  path === outer || path.startsWith(`${outer}.`) || path.startsWith(`${outer}[`);

export function NewObject<Draft extends { readonly name: string }, T extends KubeObject>(props: {
  readonly form: FormDefinition<Draft, T>;
  readonly title: string;
  readonly lead?: string;
}) {
  const { form, title, lead } = props;
  return (
    <>
      <PageHead above={<ListLink kind={form.page} />} title={title} lead={lead} />
      <ObjectForm form={form} />
    </>
  );
}

/** The views for a new object and for one that is there, of a kind whose objects are in no project. */
export function formPages<Draft extends { readonly name: string }, T extends KubeObject>(
  given: Omit<FormDefinition<Draft, T>, "kindOf" | "addressOf" | "viewOf"> & {
    readonly kind: string;
    readonly address: ResourceAddress;
    /** Default: its name below its list. */
    readonly viewOf?: (draft: Draft) => string;
    readonly title: TextId;
    readonly lead?: TextId;
  },
) {
  const { kind, address, title, lead, ...definition } = given;
  const form: FormDefinition<Draft, T> = {
    viewOf: ({ name }) => `${LISTS[definition.page]}/${name}`,
    ...definition,
    kindOf: () => kind,
    addressOf: () => address,
  };
  return {
    // biome-ignore lint/correctness/noComponentHookFactories: it is called once for each form, outside of components
    New: () => <NewObject form={form} title={t(title)} {...(lead === undefined ? {} : { lead: t(lead) })} />,
    Edit() {
      const { name = "" } = useParams({ strict: false });
      return <EditObject form={form} address={address} name={name} />;
    },
  };
}

/** `address` and `name` of the object. The form keeps what it was opened with, whatever others change meanwhile. */
export function EditObject<Draft extends { readonly name: string }, T extends KubeObject>(props: {
  readonly form: FormDefinition<Draft, T>;
  readonly address: ResourceAddress;
  readonly name: string;
}) {
  const { form, address, name } = props;
  return (
    <ObjectPage<T> kind={form.page} address={address} name={name}>
      {(object) => (
        <>
          <PageHead above={<ListLink kind={form.page} />} title={t("form.edit", { name })} />
          <Opened form={form} object={object} />
        </>
      )}
    </ObjectPage>
  );
}

function Opened<Draft extends { readonly name: string }, T extends KubeObject>(props: {
  readonly form: FormDefinition<Draft, T>;
  readonly object: T;
}) {
  const { form, object } = props;
  const [opened, setOpened] = useState(object);
  return (
    <ObjectForm key={opened.metadata.resourceVersion} form={form} object={opened} onReload={() => setOpened(object)} />
  );
}
