import { z } from 'zod'
import { operation } from '../../http/operation.ts'

export const getDocument = operation({
  access: 'public',
  tags: ['Interface'],
  summary: 'This document',
  description:
    'OpenAPI 3.1, generated from the schemas that validate. It is readable, and can be tried, at `docs`.',
  response: { 200: z.record(z.string(), z.unknown()).describe('The document') },
})

export const getPage = operation({
  access: 'public',
  tags: ['Interface'],
  summary: 'This document as a page',
  description: 'To be read, and to try the interface with.',
  response: {
    200: {
      description: 'The page',
      content: { 'text/html': { schema: z.string().meta({ examples: ['<html>'] }) } },
    },
  },
})

export const getEvents = operation({
  access: 'public',
  tags: ['Webhooks'],
  summary: 'The events, as an OpenAPI document of their own',
  description: 'OpenAPI 3.1 with nothing but webhooks.',
  response: { 200: z.looseObject({ openapi: z.string() }) },
})
