# A small GPT on the characters of Shakespeare: a few minutes on a laptop's processor.
# Data: snug prepare char input.txt data/shakespeare_char

out_dir = 'out-shakespeare-char'
dataset = 'shakespeare_char'

eval_interval = 250
eval_iters = 200
log_interval = 10
always_save_checkpoint = False  # it will overfit: keep the checkpoint with the best validation loss

gradient_accumulation_steps = 1
batch_size = 64
block_size = 256

n_layer = 6
n_head = 6
n_embd = 384
dropout = 0.2

learning_rate = 1e-3
max_iters = 5000
lr_decay_iters = max_iters
min_lr = learning_rate / 10
beta2 = 0.99
warmup_iters = 100
