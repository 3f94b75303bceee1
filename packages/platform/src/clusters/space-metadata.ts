// The labels and annotations that a space asks for on its namespace.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";

type Texts = { readonly [key: string]: string };

export type SpaceMetadata = { readonly labels?: Texts; readonly annotations?: Texts };

/** What others have put on the namespace is no business of the space. */
export const carries = ({ metadata }: KubeObject, { labels, annotations }: SpaceMetadata): boolean =>
  covers(metadata.labels, labels) && covers(metadata.annotations, annotations);

const covers = (actual: Texts = {}, wanted: Texts = {}): boolean =>
  Object.entries(wanted).every(([key, value]) => actual[key] === value);
