// The labels and annotations of a space's namespace.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";

type Texts = { readonly [key: string]: string };

export type SpaceMetadata = { readonly labels?: Texts; readonly annotations?: Texts };

/** Labels and annotations of others are kept. */
export const carries = ({ metadata }: KubeObject, { labels, annotations }: SpaceMetadata): boolean =>
  covers(metadata.labels, labels) && covers(metadata.annotations, annotations);

const covers = (actual: Texts = {}, wanted: Texts = {}): boolean =>
  Object.entries(wanted).every(([key, value]) => actual[key] === value);
