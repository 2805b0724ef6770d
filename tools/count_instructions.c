/* A plugin of QEMU that counts the instructions of a program for another machine.

     cc -shared -fPIC -O2 -o count.so tools/count_instructions.c
     qemu-aarch64 -plugin ./count.so -d plugin -D count.txt ./program

   The number is in count.txt at the end. What is declared here is version 1 of QEMU's interface for
   plugins; QEMU has the functions. */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t plugin_id;
typedef struct block block; /* translated code */
enum operation { ADD };

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*translated)(plugin_id, block *));
void qemu_plugin_register_vcpu_tb_exec_inline(block *code, enum operation how, void *at,
                                              uint64_t number);
void qemu_plugin_register_atexit_cb(plugin_id id, void (*ended)(plugin_id, void *), void *data);
size_t qemu_plugin_tb_n_insns(const block *code);
void qemu_plugin_outs(const char *text);

EXPORT int qemu_plugin_version = 1;

static uint64_t executed; /* of all threads together; exact for programs with one */

static void translated(plugin_id id, block *code) {
  (void)id;
  qemu_plugin_register_vcpu_tb_exec_inline(code, ADD, &executed, qemu_plugin_tb_n_insns(code));
}

static void ended(plugin_id id, void *data) {
  (void)id;
  (void)data;
  char text[32];
  snprintf(text, sizeof text, "%" PRIu64 "\n", executed);
  qemu_plugin_outs(text);
}

EXPORT int qemu_plugin_install(plugin_id id, const void *machine, int count, char **arguments) {
  (void)machine;
  (void)count;
  (void)arguments;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_atexit_cb(id, ended, NULL);
  return 0;
}
