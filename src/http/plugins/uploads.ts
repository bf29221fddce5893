import { createHash, type Hash } from 'node:crypto'
import multipart from '@fastify/multipart'
import type { FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { isStorable } from '../../../db/text.ts'
import type { App } from '../../services.ts'
import { invalid, RequestError } from '../errors.ts'
import { TURNING } from '../names.ts'
import { createUploadPlaces, type UploadPlace } from '../upload-places.ts'
import { InvalidInput, REPORTING } from '../validation.ts'
import { COMPRESSED } from './bodies.ts'
import { closeWithFailure } from './raw-errors.ts'
import { DRAINED_BYTES } from './unread-bodies.ts'

/** Beside the file: names, and a mapping of 200 fields. */
const MAX_FIELDS = 16
const MAX_FIELD_BYTES = 256 * 1024
const MAX_FILE_NAME = 255
/**
 * Files that arrive at the same time and are written to the disk as they come: in all, of one organization, and of one
 * account in all of its organizations.
 */
const PLACES = createUploadPlaces({
  max: 8,
  maxPerOrganization: 3,
  maxPerAccount: 2,
  bytesPerS: 16 * 1024,
  graceMs: 30_000,
})
const RETRY_AFTER_S = 5
const ONE_FILE = 'Send one file, in the field "file".'

const NAMELESS = 'A part of the form has no name: each needs one, such as name="file".'

/** The multipart/form-data that an operation accepts: one file, and fields. */
export interface Upload {
  fields: z.ZodObject
  maxBytes: number
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The body is a file with fields; nothing of it is read before the handler asks (`receiveUpload`). */
    upload?: Upload
  }
}

/** Reads files and their fields, on the routes that take them; elsewhere they answer 415. */
export async function addUploads(app: App): Promise<void> {
  await app.register(multipart, { throwFileSizeLimit: false })
  app.addHook('preParsing', async request => {
    const { upload } = request.routeOptions.config
    const { headers } = request
    const isMultipart = /^\s*multipart\//i.test(headers['content-type'] ?? '')
    if (upload && isMultipart) {
      if (!/^\s*(identity)?\s*$/i.test(headers['content-encoding'] ?? ''))
        throw new RequestError('unsupported-media-type', COMPRESSED)
      // A file that is slightly too large is read through and rejected afterwards: more clients read such an answer.
      if (Number(headers['content-length']) > upload.maxBytes + DRAINED_BYTES) throw tooLarge(upload)
    }
    if (isMultipart === (upload !== undefined)) return
    const message = upload
      ? 'Send the file as multipart/form-data.'
      : 'This media type is not accepted here: send application/json.'
    throw new RequestError('unsupported-media-type', message)
  })
}

const tooLarge = ({ maxBytes }: Pick<Upload, 'maxBytes'>) =>
  new RequestError('too-large', `A file has at most ${maxBytes / 1024 / 1024} MiB here.`)

/** The form's other fields, the file's name and the digest of both. */
export interface Arrived {
  fields: { [name: string]: unknown }
  fileName: string
  /**
   * Identifies the same file with the same fields when they are sent again: the boundary between the parts of a form
   * differs each time. Only computed for an `Idempotency-Key`.
   */
  digest: string | undefined
}

/**
 * Reads an upload: passes the file to `receive` as it arrives, and returns the fields. Throws 400 for an invalid form,
 * 413 for a file that is too large, 503 when too many arrive at once, and 408 for one that is too slow while others
 * wait.
 */
export async function receiveUpload(
  request: FastifyRequest,
  { maxBytes }: Upload,
  receive: (file: AsyncIterable<Buffer>) => Promise<void>,
  places = PLACES,
): Promise<Arrived> {
  const { socket } = request.raw
  const end = () =>
    closeWithFailure(
      socket,
      'not-in-time',
      'Others wait, and the file arrives too slowly, or beside another of yours: send it again.',
    )
  const place = places.take(request.caller, end)
  if (!place) {
    const message = 'Too many files arrive at once. Send this again in a few seconds.'
    throw new RequestError('unavailable', message, {}, RETRY_AFTER_S)
  }
  try {
    return await readParts(request, maxBytes, receive, place)
  } finally {
    place.giveBack()
  }
}

async function readParts(
  request: FastifyRequest,
  maxBytes: number,
  receive: (file: AsyncIterable<Buffer>) => Promise<void>,
  place: UploadPlace,
): Promise<Arrived> {
  const fields: { [name: string]: unknown } = {}
  let fileName: string | undefined
  const hash = request.headers['idempotency-key'] === undefined ? undefined : createHash('sha256')
  for await (const part of partsOf(request, maxBytes)) {
    // The name may be missing, though the parser's types say otherwise.
    if (!(part.fieldname as string | undefined)) throw invalid('', NAMELESS)
    if (part.type === 'field') {
      if (Object.hasOwn(fields, part.fieldname))
        throw invalid(part.fieldname, 'This is given more than once.', 'too-many')
      if (part.valueTruncated)
        throw invalid(part.fieldname, 'This is longer than what is accepted here.', 'too-long')
      // A field that declares itself JSON arrives parsed.
      if (typeof part.value !== 'string')
        throw invalid(part.fieldname, 'This has to be a text.', 'wrong-type')
      if (!isStorable(part.value) || !isStorable(part.fieldname))
        throw invalid(part.fieldname, 'This text has a character that cannot be stored.', 'wrong-format')
      fields[part.fieldname] = part.value
      place.add(part.value.length)
      continue
    }
    if (part.fieldname !== 'file' || fileName !== undefined) {
      throw invalid(part.fieldname, ONE_FILE)
    }
    fileName = nameOf(part.filename)
    await receive(counted(part.file, place, hash)).catch(error => {
      // Errors of the disk name a system call.
      throw (error as NodeJS.ErrnoException).syscall === undefined ? notWhole() : error
    })
    if (part.file.truncated) {
      throw tooLarge({ maxBytes })
    }
  }
  if (fileName === undefined) throw invalid('file', 'Send the file in the field "file".', 'required')
  const beside = JSON.stringify([fileName, Object.entries(fields).sort()])
  return { fields, fileName, digest: hash?.update(beside).digest('base64') }
}

async function* counted(
  file: AsyncIterable<Buffer>,
  place: UploadPlace,
  hash: Hash | undefined,
): AsyncGenerator<Buffer> {
  for await (const piece of file) {
    place.add(piece.length)
    hash?.update(piece)
    yield piece
  }
}

/**
 * Checks the fields that came with a file. Throws 400 for fields that the operation does not accept. A field that is
 * left empty counts as not set.
 */
export function checkFields<Shape extends z.ZodObject>(
  { fields: shape }: Upload & { fields: Shape },
  given: Arrived['fields'],
): z.infer<Shape> {
  const checked = shape.safeParse(given, REPORTING)
  if (!checked.success) throw new InvalidInput(checked.error.issues)
  return checked.data as z.infer<Shape>
}

async function* partsOf(request: FastifyRequest, maxBytes: number) {
  let refused = ''
  try {
    yield* request.parts({
      // The same rule as the default. Passing it is the only way to learn the name of a field that the parser refuses.
      isPartAFile(name = '', type, fileName) {
        if (name in Object.prototype) refused ||= name
        return type === 'application/octet-stream' || fileName !== undefined
      },
      limits: {
        fileSize: maxBytes,
        files: 1,
        fields: MAX_FIELDS,
        parts: MAX_FIELDS + 1,
        fieldSize: MAX_FIELD_BYTES,
        fieldNameSize: 100,
        headerPairs: 20,
      },
    })
  } catch (error) {
    const { code } = error as { code?: string }
    if (code === 'FST_FILES_LIMIT') throw invalid('file', ONE_FILE, 'too-many')
    if (code === 'FST_FIELDS_LIMIT' || code === 'FST_PARTS_LIMIT') {
      throw new RequestError('too-large', `Send one file and at most ${MAX_FIELDS} fields.`)
    }
    // The name is one that every object has, such as `constructor`, and no operation has a field of that name.
    if (code === 'FST_PROTO_VIOLATION') throw invalid(refused, 'A field of the form is not accepted here.')
    if (code === 'FST_INVALID_JSON_FIELD_ERROR')
      throw invalid('', 'A field of the form says that it is JSON, and is none.', 'malformed')
    throw notWhole()
  }
}

const notWhole = () =>
  invalid('', 'The body is not multipart/form-data, or it did not arrive whole.', 'malformed')

/** The last part of a path, without characters that do not belong in a name. */
function nameOf(given: string | undefined): string {
  const [name = ''] = (given ?? '').split(/[\\/]/).slice(-1)
  const plain = [...name.toWellFormed()]
    .filter(character => character >= ' ' && character !== '\u007f' && !TURNING.test(character))
    .join('')
  return plain.slice(0, MAX_FILE_NAME).toWellFormed() || 'file'
}
